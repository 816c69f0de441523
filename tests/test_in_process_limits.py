"""Work with a time limit, done in the tests' own process: as if it came from another one."""

import os
from pathlib import Path
from pickle import PicklingError

import pytest

from polygym.errors import InputError
from polygym.runtime.evaluation.time_limits import check_within
from tests.conftest import _OF_COPIES


def test_it_is_done_here_and_what_comes_of_it_is_a_copy() -> None:
    given = [1, 2]
    result = check_within(lambda: (os.getpid(), given))
    assert result == (os.getpid(), given)
    assert result[1] is not given


def test_what_is_raised_is_a_copy_too() -> None:
    error = InputError("no such row")

    def fails() -> None:
        raise error

    with pytest.raises(InputError, match="no such row") as caught:
        check_within(fails)
    assert caught.value is not error


def test_what_another_process_could_not_send_is_refused() -> None:
    with pytest.raises((AttributeError, PicklingError), match="pickle"):
        check_within(lambda: lambda: 7)


@pytest.mark.parametrize("name", _OF_COPIES)
def test_tests_of_limits_are_where_they_are_looked_for(name: str) -> None:
    assert list(Path(__file__).parent.rglob(f"{name}.py"))
