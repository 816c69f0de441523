"""The architecture, enforced: the direction of imports, circles, and the place of each library."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "polygym"

# From the bottom to the top. A layer is a module or a package of polygym; it may import itself and
# the layers below it, never one beside it.
LAYERS = (
    {
        "cached_hash",
        "closeable",
        "durations",
        "errors",
        "files",
        "lazy_imports",
        "lru_cache",
        "version",
    },
    {"foreign", "pickling", "ratios", "source_fingerprint", "sqlite_files"},
    {"ir"},
    {"poly"},
    {"frontend"},
    {"mapping"},
    {"codegen"},
    {"gpu"},
    {"pictures", "programs", "rewrite", "transformations"},
    {"runtime"},
    {"cost"},
    {"autoschedule"},
    {"mdp", "scan"},
    {"text_interface"},
    {"envs", "profiling", "search"},
    {"tc"},
    {"export"},
    {"graphs", "terms"},
    {"agents"},
    {"discovery"},
    {"cli"},
    {"__main__"},
)

# Packages that may import a library; a library that is not listed may be imported anywhere.
LIBRARIES = {
    "islpy": {"poly", "frontend", "mapping", "codegen", "pictures", "cost"},
    "llvmlite": {
        "mapping",
        "codegen.common",
        "codegen.llvm",
        "codegen.recurrences",
        "codegen.c",
        "export",
        "gpu.ptx",
        "runtime",
    },
    "cffi": {"foreign"},
    "_cffi_backend": {"foreign"},
    "ctypes": set(),
    "pycparser": {"frontend.c"},
    "pcpp": {"frontend.c"},
    "click": {"cli"},
    "rich": {"cli"},
    "ppl": {"poly"},
    "highspy": {"poly", "rewrite"},
    "matplotlib": {"pictures"},
    "gymnasium": {"envs", "graphs", "terms", "agents"},
    "torch": {"cost", "graphs", "terms", "agents", "tc.nn"},
    "stable_baselines3": {"agents"},
    "sb3_contrib": {"agents"},
    "sqlite3": {"search", "sqlite_files", "tc", "graphs"},
    "pyarrow": {"search.corpus"},
    "lightgbm": {"cost"},
    "mcp": {"text_interface.server"},
    "mcp_types": {"text_interface.server"},
    "anyio": {"text_interface.server"},
    "minari": {"agents"},
    "ml_dtypes": {"programs"},
    "onnx": {"graphs"},
    "onnxruntime": {"graphs"},
    "multiprocessing": {"agents.pretraining", "agents.trainers"},
    "ray": {"search.runner.ray"},
}

# Top-level packages that stand above polygym, which never imports them.
ABOVE = {"agents", "benchmarks", "docs", "examples", "tests"}

MOST_MODULES = 25  # in a folder, without its __init__.py


def modules_of(root: Path) -> dict[str, Path]:
    """Return the modules of a package by their dotted names, without the package's own name."""
    modules = {}
    for path in root.rglob("*.py"):
        parts = path.relative_to(root).with_suffix("").parts
        modules[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return modules


MODULES = modules_of(PACKAGE)
LEVELS = {place: level for level, layer in enumerate(LAYERS) for place in layer}


@cache
def import_nodes(text: str) -> tuple[ast.AST, ...]:
    """Return the imports and the constants of a module: what can name another module."""
    kinds = ast.Import | ast.ImportFrom | ast.Constant
    return tuple(node for node in ast.walk(ast.parse(text)) if isinstance(node, kinds))


def imports(text: str) -> Iterator[str]:
    """Yield the dotted names that a module imports, wherever in it; no name is relative."""
    for node in import_nodes(text):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "a relative import"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def named_modules(text: str, modules: Mapping[str, object]) -> set[str]:
    """Return the modules named by strings of a module: it imports or starts them by name."""
    strings = {
        node.value
        for node in import_nodes(text)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    names = {text.partition(":")[0] for text in strings if re.fullmatch(r"[\w.]+(:\w+)?", text)}
    return {name.removeprefix("polygym.") for name in names if name.startswith("polygym.")} & set(
        modules
    )


def module_named(name: str, modules: Mapping[str, object], top: str = "polygym") -> str | None:
    """Return the module of a top-level package that defines or is an imported name."""
    parts = name.split(".")
    if parts[0] != top:
        return None
    prefixes = (".".join(parts[1:count]) for count in range(len(parts), 0, -1))
    return next((prefix for prefix in prefixes if prefix in modules), None)


def imported_modules(text: str, modules: Mapping[str, object], top: str = "polygym") -> set[str]:
    named = (module_named(name, modules, top) for name in imports(text))
    return {module for module in named if module is not None}


def layer_of(module: str) -> str:
    return module.partition(".")[0]


def is_package(module: str) -> bool:
    return module in MODULES and MODULES[module].name == "__init__.py"


def may_import(module: str, other: str) -> bool:
    if other == "":
        return False  # the package itself registers the environments, which are high above
    mine, its = layer_of(module), layer_of(other)
    return mine == its or LEVELS[its] < LEVELS[mine]


def is_within(module: str, places: set[str]) -> bool:
    return any(f"{module}.".startswith(f"{place}.") for place in places)


def circles(graph: Mapping[str, set[str]]) -> list[list[str]]:
    """Return the modules that reach themselves, in groups (Tarjan's strong components)."""
    number: dict[str, int] = {}
    lowest: dict[str, int] = {}
    path: list[str] = []
    groups = []

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
                groups.append(sorted(group))

    for node in sorted(graph):
        if node not in number:
            visit(node)
    return groups


def import_graph(top: str = "polygym") -> dict[str, set[str]]:
    modules = modules_of(ROOT / top)
    return {
        module: imported_modules(path.read_text(), modules, top) - {module}
        for module, path in modules.items()
    }


def package_of(module: str) -> str:
    return module if is_package(module) else module.rpartition(".")[0]


def package_graph(graph: Mapping[str, set[str]]) -> dict[str, set[str]]:
    """Return which packages import which, without what a package exports of those within it.

    Modules at the top count as packages.
    """
    packages: dict[str, set[str]] = {}
    for module, others in graph.items():
        mine = package_of(module) or module
        theirs = {
            package_of(other) or other
            for other in others
            if not (is_package(module) and other.startswith(f"{module}."))
        }
        packages.setdefault(mine, set()).update(theirs - {mine})
    return packages


@pytest.mark.always
def test_imports_point_downwards_without_circles() -> None:
    assert {layer_of(module) for module in MODULES if module} == set(LEVELS)
    wrong = [
        f"{module} must not import {other or 'polygym'}"
        for module, path in sorted(MODULES.items())
        if module
        for other in sorted(
            imported_modules(path.read_text(), MODULES) | named_modules(path.read_text(), MODULES)
        )
        if not may_import(module, other)
    ]
    assert wrong == []
    assert imported_modules(MODULES[""].read_text(), MODULES) == {"discovery", "version"}
    # Packages that are imported on first use.
    assert named_modules(MODULES[""].read_text(), MODULES) == {"export", "graphs", "tc"}
    graph = import_graph()
    assert circles(graph) == []
    del graph[""]
    assert circles(package_graph(graph)) == []
    assert circles(import_graph("agents")) == []
    assert circles(import_graph("benchmarks")) == []


@pytest.mark.always
def test_libraries_and_folders_keep_their_bounds() -> None:
    wrong = []
    for module, path in sorted(MODULES.items()):
        for library in {name.split(".")[0] for name in imports(path.read_text())}:
            if library in ABOVE or not is_within(module, LIBRARIES.get(library, {module})):
                wrong.append(f"{module} must not import {library}")
    for path in (ROOT / "polybench").rglob("*.py"):
        if any(name.split(".")[0] == "polygym" for name in imports(path.read_text())):
            wrong.append(f"{path} must not import polygym")
    for top in ("polygym", "agents", "polybench", "benchmarks"):
        for folder in {path.parent for path in (ROOT / top).rglob("*.py")}:
            modules = [path for path in folder.glob("*.py") if path.name != "__init__.py"]
            if len(modules) > MOST_MODULES:
                wrong.append(f"{folder}: expected at most {MOST_MODULES}, found {len(modules)}")
    assert wrong == []
    text = (ROOT / "docs" / "explanation" / "architecture.md").read_text()
    chain = text.partition("```text\ncached_hash")[2].partition("```")[0]
    chain = f"cached_hash{chain}"
    stated = [set(re.findall(r"\w+", place)) for place in chain.split("←")]
    assert stated == [{place for place in layer} for layer in LAYERS[:-1]]


def test_the_checks_find_what_they_look_for() -> None:
    graph: dict[str, set[str]] = defaultdict(set, a={"b"}, b={"c"}, c={"b"}, d={"d", "a"})
    assert circles(dict(graph)) == [["b", "c"], ["d"]]
    known = {"": 0, "ir": 0, "ir.scop": 0}
    text = "from polygym.ir import scop\nimport polygym.ir\nimport os"
    assert imported_modules(text, known) == {"ir.scop", "ir"}
    for module, other in (
        ("ir.scop", "codegen.pipeline"),
        ("programs.program", "pictures.canvas"),
        ("version", ""),
    ):
        assert not may_import(module, other)
    for text in ("import polygym", "from polygym import __version__"):
        assert imported_modules(text, MODULES) == {""}
    text = "import_module('polygym.cli.main')\nstarted = 'polygym.envs.schedule:ConstructEnv'"
    assert named_modules(text, MODULES) == {"cli.main", "envs.schedule"}
    modules = {module: set[str]() for module in MODULES if module}
    modules["poly.spaces.farkas"] = {"poly.legality"}
    assert circles(package_graph(modules)) == []
    modules["poly.legality"] = {"poly.spaces.cone"}
    assert circles(modules) == []
    assert circles(package_graph(modules)) == [["poly", "poly.spaces"]]
    assert is_within("codegen.llvm.jit", LIBRARIES["llvmlite"])
    assert not is_within("codegen.loopir.ir", LIBRARIES["llvmlite"])
