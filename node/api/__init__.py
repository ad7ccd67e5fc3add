"""How others on this machine ask the node: HTTP with JSON, over a unix socket and over 127.0.0.1.

The handlers here translate and nothing else: bytes to a request, a document or an error to a
response.  They call `node.services` and never each other.  Errors become problem documents by the
status that each error type names.

The unix socket belongs to the owner of the state directory and checks who connects.  The listener
on 127.0.0.1 can be reached by any page in a browser, so its guard comes first in every request
and refuses foreign hosts and origins before anything is parsed.
"""
