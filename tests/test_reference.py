"""The API reference can be made, and has what packages say that they have."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent


def test_the_reference_has_every_public_name(tmp_path: Path) -> None:
    script = ROOT / "docs" / "reference.py"
    done = subprocess.run(
        [sys.executable, "-W", "error", script, tmp_path], capture_output=True, text=True, cwd=ROOT
    )
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "polygym" / "poly.html").read_text()
    for name in ("Schedule", "find_violation", "isl_schedule", "LegalSchedule"):
        assert f'id="{name}"' in page
    assert 'id="define"' in (tmp_path / "polygym" / "tc.html").read_text()
    assert "NotCompiled" not in page, "what is not public has no page"


def test_roles_and_tables_of_docstrings_are_readable() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "--doctest-modules", "docs/reference.py"],
        capture_output=True,
        text=True,
        cwd=ROOT,
    )
    assert done.returncode == 0, done.stdout
