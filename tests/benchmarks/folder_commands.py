"""Commands that are folders of benchmarks, as modules."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


def command(name: str) -> ModuleType:
    """Return the module that ``python benchmarks/NAME`` runs."""
    spec = importlib.util.spec_from_file_location(name, BENCHMARKS / name / "__main__.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module
