"""Who plays for the leaderboard: :mod:`board.entrants`."""
