"""Random schedules for `crashes.py`: ``cases`` plays them, ``journal`` says what became of them.

``random_mappings`` is a script of its own: programs of the tests under random mappings.
"""
