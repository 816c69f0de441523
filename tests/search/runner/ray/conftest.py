"""Lets tests start nodes of Ray as the benchmarks do."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[4] / "benchmarks"))
