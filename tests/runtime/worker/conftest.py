"""A worker and an open problem for the tests that need no more than that."""

from collections.abc import Iterator

import pytest

from polygym.runtime.worker.worker import Session, Worker
from tests.runtime.worker import objects


@pytest.fixture
def worker() -> Iterator[Worker]:
    with Worker() as worker:
        yield worker


@pytest.fixture(scope="module")
def session() -> Iterator[Session]:
    """The problem of doubling 0, 1, ..., 99."""
    with Worker() as worker:
        yield worker.open(objects.problem())
