"""Tools for tests: a scripted Messages API server on loopback, so that whole runs are tried without a model or a key.

`server.ModelServer` listens, `replies` has one function for each way a call can end. Standard library only.
"""
