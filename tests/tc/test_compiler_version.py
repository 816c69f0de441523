"""Which compiler it is: whatever decides a comprehension's code counts, wherever it stands."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from pathlib import Path

import pytest

from polygym import source_fingerprint
from polygym.errors import InternalError
from polygym.tc.cache import COMPILER_FOLDERS, compiler_fingerprint
from polygym.version import __version__
from tests.test_layering import MODULES, import_graph

GENERATION = {"frontend.tc", "poly.scheduling.baselines", "codegen.pipeline"}
"""Where a text becomes a program, a program has a schedule, and a schedule becomes code."""

# What of polygym they import besides: it says what is wrong, or remembers what it was told.
DECIDES_NOTHING = {"cached_hash", "errors", "lru_cache", "pickling", "version"}

# What else comprehensions import, and why it decides no code.
OTHERS = {
    "autoschedule": "chooses schedules, which are kept beside the code",
    "cached_hash": "finds what is remembered",
    "closeable": "ends blocks",
    "cost": "ranks candidates: the schedule and the mapping of a kernel are kept beside its code",
    "errors": "says what is wrong",
    "files": "writes what was found",
    "foreign": "calls what was compiled",
    "frontend.c": "reads C, and no comprehension",
    "lazy_imports": "imports names",
    "lru_cache": "forgets",
    "mdp": "plays schedules, which are kept likewise",
    "pickling": "says what is wrong",
    "programs": "has the data of what is measured, and NumPy's names of types",
    "runtime": "measures what was compiled, and ends isl's scheduler: the schedule is kept",
    "search": "chooses candidates, which are kept",
    "source_fingerprint": "has the fingerprint of those that count",
    "sqlite_files": "says what is wrong with a file of times",
    "version": "counts as such",
}


def reached(starts: Iterable[str]) -> set[str]:
    """Return the modules that these import, and those that they import."""
    imports, result, left = import_graph(), set[str](), list(starts)
    while left:
        module = left.pop()
        if module not in result:
            result.add(module)
            left += imports[module]
    return result


def is_in(name: str, places: Iterable[str]) -> bool:
    return any(f"{name}.".startswith(f"{place}.") for place in places)


PARTS = tuple(part.removesuffix(".py").replace("/", ".") for part in COMPILER_FOLDERS)


def test_all_that_generates_code_counts() -> None:
    modules = {module for module in reached(GENERATION) if not is_in(module, PARTS)}
    assert modules == DECIDES_NOTHING


def test_all_that_comprehensions_import_counts_or_has_a_reason_not_to() -> None:
    modules = reached(module for module in MODULES if is_in(module, ["tc"]))
    assert modules >= GENERATION
    assert {module for module in modules if not is_in(module, (*PARTS, *OTHERS))} == set()
    for place in (*PARTS, *OTHERS):
        assert any(is_in(module, [place]) for module in modules), (
            f"{place} is not imported any more"
        )


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of a polygym whose parts have a module each."""
    folder = tmp_path / "polygym"
    for part in COMPILER_FOLDERS:
        (folder / part).mkdir(parents=True)
        (folder / part / "__init__.py").touch()
    monkeypatch.setattr(source_fingerprint, "PACKAGE", folder)
    return folder


def asked_anew() -> str:
    compiler_fingerprint.cache_clear()
    try:
        return compiler_fingerprint()
    finally:
        compiler_fingerprint.cache_clear()


def test_the_sources_count(package: Path) -> None:
    """A changed, added or renamed module of the code generation is another compiler."""
    loops = package / "codegen" / "loopir"
    (package / "cli").mkdir()
    seen = {asked_anew()}
    for content, name in (("a = 1", "jam.py"), ("a = 2", "jam.py"), ("a = 2", "jams.py")):
        shutil.rmtree(loops, ignore_errors=True)
        loops.mkdir()
        (loops / name).write_text(content)
        seen.add(asked_anew())
        (package / "cli" / "main.py").write_text(content)
        assert asked_anew() in seen, "what the commands look like decides no code"
    assert len(seen) == 4
    assert all(version.startswith(f"{__version__}+") for version in seen)


@pytest.mark.parametrize("part", COMPILER_FOLDERS)
def test_sources_that_are_not_found_are_no_fingerprint(package: Path, part: str) -> None:
    """A folder that moved must not drop out: stale code would be used again."""
    shutil.move(package / part, package / "elsewhere")
    with pytest.raises(InternalError, match=f"polygym/{part}: expected modules, found none"):
        asked_anew()
