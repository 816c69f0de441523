"""Records of episodes as JSON.

``episode_record`` writes and replays them, ``record_checks`` checks them, ``record_files`` finds
their C files.
"""
