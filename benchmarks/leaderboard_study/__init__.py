"""Agents of the leaderboard (:mod:`leaderboard_study.agents`)."""
