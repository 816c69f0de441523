"""What packages say that they have for others: it is there, and nothing else hides it."""

import ast
import importlib.util
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

import agents
import polybench
import polygym

ROOT = Path(__file__).parent.parent
PACKAGES = sorted(
    {package.__name__ for package in (polygym, agents, polybench)}
    | {
        module_info.name
        for package in (polygym, agents, polybench)
        for module_info in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
        if module_info.ispkg
    }
)


def is_lazy(package: str) -> bool:
    return any(
        isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for node in source(package).body
    )


def source(package: str) -> ast.Module:
    return ast.parse((ROOT / package.replace(".", "/") / "__init__.py").read_text())


LAZY = [package for package in PACKAGES if is_lazy(package)]


@pytest.mark.parametrize("package", PACKAGES)
def test_every_package_states_its_names_and_has_them(package: str) -> None:
    module = importlib.import_module(package)
    is_empty = len(source(package).body) <= 1  # but for a docstring
    assert is_empty or isinstance(module.__all__, list), "a package says what it has for others"
    exported = getattr(module, "__all__", [])
    assert len(set(exported)) == len(exported)
    for name in exported:
        if importlib.util.find_spec(f"{package}.{name}") is not None:
            importlib.import_module(f"{package}.{name}")
        assert getattr(module, name) is not None
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = module.no_such_name


@pytest.mark.parametrize("package", LAZY)
def test_no_name_is_a_module_of_the_package(package: str) -> None:
    """Once a module is imported, its package has it as an attribute, in the place of the name."""
    module = importlib.import_module(package)
    below = {module_info.name for module_info in pkgutil.iter_modules(module.__path__)}
    assert not below & set(module.__all__)


@pytest.mark.parametrize("package", LAZY)
def test_what_types_see_is_what_is_found(package: str) -> None:
    """The imports for the type checker name the same modules as the table for the interpreter."""
    module = importlib.import_module(package)
    for node in source(package).body:
        if isinstance(node, ast.If):
            seen = {
                alias.name: part.module
                for part in node.body
                if isinstance(part, ast.ImportFrom)
                for alias in part.names
            }
            assert set(seen) == set(module.__all__)
            for name, module_name in seen.items():
                assert getattr(module, name) is getattr(
                    importlib.import_module(str(module_name)), name
                )


def test_what_is_not_asked_for_is_not_imported() -> None:
    """The command line's help, and a worker, must not wait for PPL, LLVM or matplotlib."""
    script = (
        "import sys\n"
        "import polygym.poly, polygym.codegen, polygym.pictures, polygym.search\n"
        "import polygym.poly.spaces, polygym.runtime.worker, polygym.mdp\n"
        "print(*sorted({'islpy', 'ppl', 'llvmlite', 'matplotlib', 'numpy'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert done.stdout.split() == []
