"""What has to be closed is closed whatever ends its block."""

import pytest

from polygym.closeable import Closeable


class Counting(Closeable):
    """Knows how often it was closed."""

    def __init__(self) -> None:
        self.closed = 0

    def close(self) -> None:
        """Count."""
        self.closed += 1


def test_a_block_closes_and_hides_no_error() -> None:
    counting = Counting()
    with counting as same:
        assert (same is counting, counting.closed) == (True, 0)
    assert counting.closed == 1
    with pytest.raises(KeyboardInterrupt), counting:
        raise KeyboardInterrupt
    assert counting.closed == 2


def test_what_does_not_say_how_it_closes_is_not_made() -> None:
    with pytest.raises(TypeError, match="close"):
        Closeable()  # type: ignore[abstract]
