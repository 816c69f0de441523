"""Records of episodes as JSON.

``episode_record`` writes and replays them, ``record_checks`` and ``json_entries`` check them.
"""

__all__: list[str] = []
