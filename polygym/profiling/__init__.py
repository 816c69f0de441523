"""Profiles of users' programs: the regions that take the time.

===========  ============================================================================
``gprof``    samples of a program that was built with ``gcc -pg``
``perf``     samples by perf
``running``  runs the program, and passes signals on to it
``regions``  samples joined with the regions and functions that they are in
``samples``  samples as values, and the tool that takes them
===========  ============================================================================
"""
