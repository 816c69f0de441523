"""How long threads spin: what the user says, else a short while, and nobody else hears of it."""

import os
import subprocess
import sys

import pytest

from polygym.foreign import openmp

pytestmark = pytest.mark.skipif(openmp.openmp_library() is None, reason="needs an OpenMP library")

SCRIPT = """
import os
from polygym.foreign import openmp
before = dict(os.environ)
assert openmp.fork_address()
assert dict(os.environ) == before
"""


def displayed(**variables: str) -> str:
    """Return what libgomp says of its settings when polygym loads it in a new process."""
    clean = {name: text for name, text in os.environ.items() if name not in openmp._USER_VARIABLES}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        env={**clean, "OMP_DISPLAY_ENV": "verbose", **variables},
        capture_output=True,
        text=True,
        check=True,
    )
    if "GOMP_SPINCOUNT" not in done.stderr:
        pytest.skip("another OpenMP than libgomp")
    return done.stderr


def test_threads_spin_for_a_short_while_only() -> None:
    assert f"GOMP_SPINCOUNT = '{openmp._SPINS}'" in displayed()


@pytest.mark.parametrize(
    ("name", "value", "spins"),
    [
        ("GOMP_SPINCOUNT", "77", "77"),
        ("OMP_WAIT_POLICY", "ACTIVE", "30000000000"),
        ("OMP_WAIT_POLICY", "PASSIVE", "0"),
    ],
)
def test_what_the_user_has_set_stays(name: str, value: str, spins: str) -> None:
    assert f"GOMP_SPINCOUNT = '{spins}'" in displayed(**{name: value})
