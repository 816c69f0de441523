"""``polygym export`` for GPUs, which needs none."""

import json
from pathlib import Path

import pytest

from polygym.gpu.ptx.ptxas import find_ptxas
from tests.cli.invoke import invoke

needs_ptxas = pytest.mark.skipif(find_ptxas() is None, reason="no ptxas here: nvidia-cuda-nvcc-cu12")
