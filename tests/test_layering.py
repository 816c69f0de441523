"""The architecture, enforced: who may import whom, and where each library may appear."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import groupby
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "polygym"

# From the bottom to the top. A place is a module or a package of polygym, here with its rooms; it
# may import itself and what stands below it, never a neighbour.
LAYERS = (
    {"closing", "errors", "files", "kept_hash", "lazy", "lru", "version"},
    {"native", "pickles", "sources", "sqlite_files"},
    {"compiler.ir"},
    {"compiler.poly"},
    {"compiler.storage"},
    {"compiler.frontend.c", "compiler.frontend.tc"},
    {"compiler.codegen.common"},
    {"compiler.codegen.trees"},
    {"compiler.codegen.loops"},
    {"compiler.codegen.llvm"},
    {"compiler.codegen.c_printer", "compiler.codegen.passes", "compiler.codegen.contraction"},
    {"compiler.codegen.pipeline"},
    {"compiler.codegen.stages"},
    {"compiler.codegen"},
    {"programs", "pictures", "rewrite"},
    {"measure.worker"},
    {"measure.evaluation"},
    {"measure.machine"},
    {"cost"},
    {"episodes"},
    {"envs", "search.explore", "search.planning"},
    {"search.tune"},
    {"search.sweep", "search.corpus"},
    {"search.cluster"},
    {"tc"},
    {"graphs", "terms"},
    {"discovery"},
    {"cli"},
    {"__main__"},
)

# Packages that only hold others: they import nothing.
HALLS = {"compiler", "compiler.frontend", "measure", "search"}

# Libraries that may be imported only in certain places.
HOMES = {
    "islpy": {
        "compiler.poly",
        "compiler.storage",
        "compiler.frontend.c",
        "compiler.frontend.tc",
        "compiler.codegen.common",
        "compiler.codegen.trees",
        "compiler.codegen.loops",
        "compiler.codegen.contraction",
        "pictures",
        "cost",
    },
    "llvmlite": {"compiler.codegen.common", "compiler.codegen.llvm"},
    "cffi": {"native"},
    "_cffi_backend": {"native"},
    "ctypes": set(),
    "pycparser": {"compiler.frontend.c"},
    "pcpp": {"compiler.frontend.c"},
    "click": {"cli"},
    "rich": {"cli"},
    "ppl": {"compiler.poly"},
    "highspy": {"compiler.poly", "rewrite"},
    "matplotlib": {"pictures"},
    "gymnasium": {"envs", "graphs", "terms"},
    "torch": {"cost", "graphs", "terms"},
    "stable_baselines3": set(),
    "sb3_contrib": set(),
    "sqlite3": {"search.sweep", "search.corpus", "search.cluster", "sqlite_files", "tc", "graphs"},
    "pyarrow": {"search.corpus"},
    "lightgbm": {"cost"},
    "ml_dtypes": {"programs"},
    "onnx": {"graphs"},
    "onnxruntime": {"graphs"},
    "multiprocessing": set(),
    "ray": {"search.cluster"},
}

# What stands above polygym and is never imported by it.
ABOVE = {"agents", "benchmarks", "docs", "examples", "tests"}

PLACES = sorted(set().union(*LAYERS) | HALLS, key=len, reverse=True)


def modules_of(root: Path) -> dict[str, Path]:
    """Return the modules of a package by their dotted names, without the package's own."""
    found = {}
    for path in root.rglob("*.py"):
        parts = path.relative_to(root).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


MODULES = modules_of(PACKAGE)


@cache
def nodes_of(text: str) -> tuple[ast.AST, ...]:
    """Return what names a module or a text: imports and constants."""
    kinds = ast.Import | ast.ImportFrom | ast.Constant
    return tuple(node for node in ast.walk(ast.parse(text)) if isinstance(node, kinds))


def imports(text: str) -> Iterator[str]:
    """Yield the dotted names that a module imports, wherever in it; no name is relative."""
    for node in nodes_of(text):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "a relative import"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def named_modules(text: str, modules: Mapping[str, object]) -> set[str]:
    """Return the modules whose names are texts of a module: it imports them so, or starts them."""
    texts = {
        node.value
        for node in nodes_of(text)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    names = {text.partition(":")[0] for text in texts if re.fullmatch(r"[\w.]+(:\w+)?", text)}
    return {name.removeprefix("polygym.") for name in names if name.startswith("polygym.")} & set(
        modules
    )


def module_named(name: str, modules: Mapping[str, object]) -> str | None:
    """Return the module of polygym in which an imported name stands."""
    parts = name.split(".")
    if parts[0] != "polygym":
        return None
    for count in range(len(parts), 0, -1):
        if (found := ".".join(parts[1:count])) in modules:
            return found
    return None


def imported_modules(text: str, modules: Mapping[str, object]) -> set[str]:
    return {found for name in imports(text) if (found := module_named(name, modules)) is not None}


def place_of(module: str) -> str:
    """Return the place that a module belongs to: the innermost."""
    return next(place for place in PLACES if f"{module}.".startswith(f"{place}."))


def level(place: str) -> int:
    return next(index for index, layer in enumerate(LAYERS) if place in layer)


def is_package(module: str) -> bool:
    return module in MODULES and MODULES[module].name == "__init__.py"


def may_import(module: str, other: str) -> bool:
    if other == "" or place_of(module) in HALLS:
        return False  # the package itself registers the environments, which stand high up
    if is_package(module) and other.startswith(f"{module}."):
        return True  # what a package has for others
    mine, its = place_of(module), place_of(other)
    return mine == its or (its not in HALLS and level(its) < level(mine))


def circles(graph: Mapping[str, set[str]]) -> list[list[str]]:
    """Return the modules that reach themselves, in groups (Tarjan's strong components)."""
    number: dict[str, int] = {}
    lowest: dict[str, int] = {}
    path: list[str] = []
    found = []

    def visit(node: str) -> None:
        number[node] = lowest[node] = len(number)
        path.append(node)
        for other in graph[node]:
            if other not in number:
                visit(other)
            if other in path:
                lowest[node] = min(lowest[node], lowest[other])
        if lowest[node] == number[node]:
            group = path[path.index(node) :]
            del path[path.index(node) :]
            if len(group) > 1 or node in graph[node]:
                found.append(sorted(group))

    for node in sorted(graph):
        if node not in number:
            visit(node)
    return found


@pytest.mark.parametrize("module", sorted(set(MODULES) - {""}))
def test_imports_point_downwards(module: str) -> None:
    text = MODULES[module].read_text()
    for other in imported_modules(text, MODULES) | named_modules(text, MODULES):
        assert may_import(module, other), f"{module} must not import {other or 'polygym'}"


def test_the_package_itself_imports_only_what_registers() -> None:
    text = MODULES[""].read_text()
    assert imported_modules(text, MODULES) == {"discovery", "version"}
    assert named_modules(text, MODULES) == {"graphs", "tc"}  # when they are asked for


@pytest.mark.parametrize("module", sorted(set(MODULES) - {""}))
def test_libraries_stay_at_home(module: str) -> None:
    for name in imports(MODULES[module].read_text()):
        library = name.split(".")[0]
        if library in HOMES:
            assert place_of(module) in HOMES[library], f"{library} is not for {module}"


def imports_of_modules() -> dict[str, set[str]]:
    return {
        module: imported_modules(path.read_text(), MODULES) - {module}
        for module, path in MODULES.items()
    }


def test_no_module_reaches_itself() -> None:
    assert circles(imports_of_modules()) == []


def package_of(module: str) -> str:
    return module if is_package(module) else module.rpartition(".")[0]


def imports_of_packages(of_modules: Mapping[str, set[str]]) -> dict[str, set[str]]:
    """Return who imports whom of packages, without what one has for others of those within it.

    Modules at the top count as packages.
    """
    found: dict[str, set[str]] = {}
    for module, others in of_modules.items():
        mine = package_of(module) or module
        theirs = {
            package_of(other) or other
            for other in others
            if not (is_package(module) and other.startswith(f"{module}."))
        }
        found.setdefault(mine, set()).update(theirs - {mine})
    return found


def test_no_package_reaches_itself() -> None:
    graph = imports_of_modules()
    del graph[""]
    assert circles(imports_of_packages(graph)) == []


def test_a_circle_of_packages_is_found_where_no_module_is_in_one() -> None:
    graph = {module: set[str]() for module in MODULES if module}
    graph["compiler.poly.spaces.farkas"] = {"compiler.poly.legality"}
    assert circles(imports_of_packages(graph)) == []
    graph["compiler.poly.score"] = {"compiler.poly.spaces.cone"}
    assert circles(graph) == []
    assert circles(imports_of_packages(graph)) == [["compiler.poly", "compiler.poly.spaces"]]


@pytest.mark.parametrize("module", sorted(MODULES))
def test_polygym_stands_on_its_own(module: str) -> None:
    first = {name.split(".")[0] for name in imports(MODULES[module].read_text())}
    assert not first & ABOVE


def test_circles_are_found() -> None:
    graph: dict[str, set[str]] = defaultdict(set, a={"b"}, b={"c"}, c={"b"}, d={"d", "a"})
    assert circles(dict(graph)) == [["b", "c"], ["d"]]


def test_names_are_resolved_to_modules() -> None:
    known = {"": 0, "compiler.ir": 0, "compiler.ir.scop": 0}
    text = "from polygym.compiler.ir import scop\nimport polygym.compiler.ir\nimport os"
    assert imported_modules(text, known) == {"compiler.ir.scop", "compiler.ir"}
    assert not may_import("compiler.ir.scop", "compiler.codegen.pipeline")
    assert not may_import("programs.program", "pictures.canvas")
    assert not may_import("compiler", "compiler.ir.scop")
    assert not may_import("compiler.codegen.pipeline", "compiler")
    for text in ("import polygym", "from polygym import __version__"):
        assert imported_modules(text, MODULES) == {""}
    text = "import_module('polygym.cli.main')\nstarted = 'polygym.envs.construct:ConstructEnv'"
    assert named_modules(text, MODULES) == {"cli.main", "envs.construct"}
    assert not may_import("version", "")


def test_the_suite_does_not_know_polygym() -> None:
    for path in (ROOT / "polybench").rglob("*.py"):
        assert not any(name.split(".")[0] == "polygym" for name in imports(path.read_text())), path


def test_every_module_has_a_place_and_every_place_a_module() -> None:
    assert {place_of(module) for module in set(MODULES) - {""}} == set(PLACES)


def test_the_document_has_the_places_in_their_order() -> None:
    """Those of codegen, and of the command, as one; ``compiler`` goes without saying."""
    text = (ROOT / "docs" / "architecture.md").read_text()
    chain = next(block for block in text.split("```") if block.lstrip().startswith("closing"))
    said = [set(re.findall(r"[\w.]+", place)) for place in chain.split("←")]
    known = [{_in_short(place) for place in layer} for layer in LAYERS]
    assert said == [layer for layer, _ in groupby(known)]


def _in_short(place: str) -> str:
    name = place.removeprefix("compiler.")
    return "codegen" if name.startswith("codegen") else {"__main__": "cli"}.get(name, name)
