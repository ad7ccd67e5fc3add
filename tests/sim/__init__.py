"""A seeded simulator of several nodes: one thread, virtual clocks, a bad network, crashes, backups, a forger.

Nodes run the real store, admission, pages, have-vectors and projection over SQLite in memory; what is made up
is time, the network and the power.  `python -m pytest tests/sim -k seed_0017` plays one schedule again.
"""
