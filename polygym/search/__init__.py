"""Searches for fast code, each of which can be stopped and continued.

``explore`` plays episodes of one program and keeps the best schedule, in one folder; ``tune`` looks
for schedule and mapping together; ``sweep`` searches many programs with several policies, into one
store, and draws a report of it; ``corpus`` collects measurements for models to learn from.
``cluster`` has their work done by many machines. ``planning`` has searches over any states and
steps: A*, Monte Carlo trees, beams.
"""

__all__ = ["cluster", "corpus", "explore", "planning", "sweep", "tune"]
