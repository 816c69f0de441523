"""Execution of the long commands: ``benching``, ``search_session`` and ``sweep_session``."""
