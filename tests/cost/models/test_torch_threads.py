"""PyTorch has as many threads as it is told, for as long as it is told."""

from collections.abc import Iterator

import pytest

from polygym.cost.models.tree_gru import use_torch_threads

torch = pytest.importorskip("torch")


@pytest.fixture(autouse=True)
def _two_threads() -> Iterator[None]:
    """Have two threads before, and as many as other tests have afterwards."""
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


@pytest.mark.parametrize("count", [1, 3])
def test_inside_there_are_so_many_and_before_and_after_others(count: int) -> None:
    with use_torch_threads(count):
        assert torch.get_num_threads() == count
    assert torch.get_num_threads() == 2


def test_what_fails_leaves_as_many_as_before() -> None:
    with pytest.raises(ValueError, match="inside"), use_torch_threads(1):
        raise ValueError("inside")
    assert torch.get_num_threads() == 2
