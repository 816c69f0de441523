"""What tests of the command share: a file to give it."""

from pathlib import Path

import pytest

from tests.c_programs import Y_AX


@pytest.fixture
def y_ax(tmp_path: Path) -> str:
    path = tmp_path / "yax.c"
    path.write_text(Y_AX)
    return str(path)
