"""Lets tests import what stands under benchmarks, as its scripts do."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))
