"""Random schedules for `crashes.py`: ``cases`` plays them, ``journal`` says what became of them."""
