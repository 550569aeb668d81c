"""Runs on a Dask cluster (extra ``cluster``): tasks of a run are given to workers, which may come, go and fail.

A cluster is the address of a scheduler, a ``distributed.Client``, ``"local:N"`` for N worker processes on this host, or
a TOML file for a batch system. Workers open their devices once per session and are given tasks of some seconds (see
:mod:`engine.base.division`); all state of a run is with the process that started it, and in its run folder.

Whoever can submit tasks to a scheduler can execute code on its workers, and whoever controls a worker can send objects
that are unpickled here: connect to schedulers that you trust, by TLS unless they are on this host.
"""
