"""The environments' names: what Gymnasium makes, and what the record of an episode names."""

CONSTRUCT = "polygym/Construct-v0"
EXPLORE = "polygym/Explore-v0"
SCHEDULE = "polygym/Schedule-v0"
OPTIMIZE = "polygym/Optimize-v0"
TRANSFORM = "polygym/Transform-v0"

ENVIRONMENT_IDS = (CONSTRUCT, EXPLORE, SCHEDULE, OPTIMIZE, TRANSFORM)
