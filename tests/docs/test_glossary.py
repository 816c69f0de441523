"""The glossary: its modules and classes exist, and no term stands twice."""

import re

from polygym.poly.transform.storage.plan import parse_storage
from tests.test_layering import ROOT

GLOSSARY = (ROOT / "docs" / "glossary.md").read_text()
ROWS = [
    [cell.strip() for cell in line.strip("|").split(" | ")]
    for line in GLOSSARY.splitlines()
    if line.startswith("| ") and not line.startswith("| term ")
]


def test_terms_are_unique_and_complete() -> None:
    assert len(ROWS) > 300
    assert all(len(row) == 3 and all(row) for row in ROWS)
    terms = [row[0].lower() for row in ROWS]
    assert sorted(set(terms)) == sorted(terms)


def test_modules_and_classes_exist() -> None:
    missing = []
    defined: set[tuple[str, str]] = set()
    for top in ("polygym", "agents", "benchmarks", "polybench"):
        for path in (ROOT / top).rglob("*.py"):
            text = path.read_text()
            defined.update(re.findall(r"^class (\w+)|^(\w+)(?:: \w+)? = ", text, re.MULTILINE))
    names = {name for pair in defined for name in pair}
    for term, _, where in ROWS:
        for name in re.findall(r"`((?:polygym|agents|benchmarks)(?:\.\w+)*)`", where):
            path = ROOT / name.replace(".", "/")
            if not path.is_dir() and not path.with_suffix(".py").is_file():
                missing.append(f"{term}: {name}")
        for name in re.findall(r"\b(?:[A-Z][a-z0-9]+){2,}\b", f"{term} {where}"):
            if name not in names:
                missing.append(f"{term}: {name}")
    assert missing == []


def test_storage_texts_are_read() -> None:
    texts = [text for row in ROWS for text in re.findall(r"storage plan text `(.+?)`", row[2])]
    assert len(texts) >= 5
    for text in texts:
        beside = "" if text.startswith("w=") else "w=expand:i "  # contract acts on new arrays
        assert text == "keep" or text in str(parse_storage(beside + text))
        parse_storage(text)
