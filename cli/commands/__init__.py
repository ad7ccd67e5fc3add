"""One module for each command of `atrium`, imported when the command is called.

A module defines a click command with an example in its help, builds one request of
`node.services.requests`, hands it to `cli.client` and prints the document through `cli.output`.
Nothing else belongs here.
"""
