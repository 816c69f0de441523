"""An evaluator that the tests of a module share, and one that a test may spoil."""

from collections.abc import Iterator

import pytest

from polygym.runtime.evaluation import Evaluator
from tests.runtime.evaluation import programs


@pytest.fixture(scope="module")
def evaluator() -> Iterator[Evaluator]:
    """An evaluator of gemm with both of its processes, which the tests leave working."""
    with Evaluator(programs.gemm()) as evaluator:
        yield evaluator


@pytest.fixture
def own_evaluator() -> Iterator[Evaluator]:
    """An evaluator of gemm for one test alone."""
    with Evaluator(programs.gemm()) as evaluator:
        yield evaluator
