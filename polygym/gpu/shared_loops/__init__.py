"""Loops that blocks and threads share: which role each has, and how many iterations.

================  =============================================================
``roles``         Loops that count blocks or threads
``index_bounds``  How large an index is at most, and a loop how long
================  =============================================================
"""
