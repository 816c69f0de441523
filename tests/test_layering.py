"""The architecture, enforced: who may import whom, and where each library may appear."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "polygym"

# From the bottom to the top; a layer may import itself and those below it, never a neighbour.
LAYERS = (
    {"errors"},
    {"ir"},
    {"frontend", "poly", "tc.language"},
    {"codegen"},
    {"measure"},
    {"programs"},
    {"evaluation"},
    {"mdp", "pictures"},
    {"envs"},
    {"discovery", "search"},
    {"tune"},
    {"tc"},
    {"sweep"},
    {"report"},
    {"cli"},
    {"__main__"},
)

# Libraries that may be imported only in certain places.
HOMES = {
    "islpy": {"frontend", "poly", "tc.language", "codegen", "pictures"},
    "llvmlite": {"codegen"},
    "pycparser": {"frontend"},
    "pcpp": {"frontend"},
    "click": {"cli"},
    "rich": {"cli"},
    "ppl": {"poly"},
    "highspy": {"poly"},
    "matplotlib": {"pictures"},
    "gymnasium": {"envs"},
    "torch": set(),
    "stable_baselines3": set(),
    "sqlite3": {"sweep", "tc"},
    "multiprocessing": set(),
}

MODULES = sorted(PACKAGE.rglob("*.py"))


def imported(path: Path) -> set[str]:
    """Return the dotted names of all modules that a file imports."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            names.add(str(node.module))
            if node.module == "polygym":
                names |= {f"polygym.{alias.name}" for alias in node.names}
    return names


def part_of(path: Path) -> str:
    """Return the layer's member a file belongs to."""
    return member_of(path.relative_to(PACKAGE).with_suffix("").parts)


def member_of(parts: tuple[str, ...]) -> str:
    """Return the layer's member of a module; of ``tc``, the language is one of its own."""
    return "tc.language" if parts[:2] == ("tc", "language") else parts[0]


def level(part: str) -> int:
    return next(index for index, layer in enumerate(LAYERS) if part in layer)


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_point_downwards(path: Path) -> None:
    part = part_of(path)
    if part == "__init__":
        below = {name for name in imported(path) if name.startswith("polygym.")}
        assert below == {"polygym.discovery", "polygym.discovery.register_environments"} & below
        return
    for name in imported(path):
        if name.startswith("polygym."):
            other = member_of(tuple(name.split(".")[1:]))
            if other == "__version__":
                continue
            below = level(other) < level(part)
            assert other == part or below, f"{part} must not import {other}"


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_libraries_stay_at_home(path: Path) -> None:
    for name in imported(path):
        library = name.split(".")[0]
        if library in HOMES:
            assert part_of(path) in HOMES[library], f"{library} is not for {part_of(path)}"


def test_the_suite_does_not_know_polygym() -> None:
    for path in (ROOT / "polybench").rglob("*.py"):
        assert not any(name.split(".")[0] == "polygym" for name in imported(path)), path


def test_every_part_has_a_level() -> None:
    parts = {part_of(path) for path in MODULES} - {"__init__"}
    assert parts == set().union(*LAYERS)
