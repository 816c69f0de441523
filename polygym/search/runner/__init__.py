"""Runners of candidates: on this machine (``local``), or on many (``ray``); ``retries`` of both."""
