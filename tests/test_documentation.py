"""The Python examples of the documents run."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
EXAMPLES = [
    pytest.param(block, id=f"{path.name}-{number}")
    for path in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
    for number, block in enumerate(re.findall(r"```python\n(.*?)```", path.read_text(), re.DOTALL))
]


@pytest.mark.parametrize("block", EXAMPLES)
def test_examples_run(
    block: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    exec(compile(block, "<example>", "exec"), {"__name__": "example"})
    printed = capsys.readouterr().out
    assert ("print(" in block) == bool(printed)


def test_there_are_examples() -> None:
    assert len(EXAMPLES) >= 4


LINKS = [
    pytest.param(path, link, id=f"{path.name}-{link}")
    for path in (*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").glob("*.md")))
    for link in dict.fromkeys(re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", path.read_text()))
    if "://" not in link
]


@pytest.mark.parametrize(("path", "link"), LINKS)
def test_links_lead_somewhere(path: Path, link: str) -> None:
    assert (path.parent / link).exists()
