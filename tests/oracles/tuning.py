"""Other tuning parameters for a test: what decides less, or more, than it usually does."""

from dataclasses import replace
from types import ModuleType

import pytest

from polygym.codegen.transforms import accumulators
from polygym.codegen.tree.planning import plan
from polygym.mapping.machine import Machine


def tune(monkeypatch: pytest.MonkeyPatch, module: ModuleType, **changes: float) -> None:
    """Give a module other values of some tuning parameters, until the test ends."""
    monkeypatch.setattr(module, "TUNING", replace(module.TUNING, **changes))  # type: ignore[arg-type]


def use_machine(monkeypatch: pytest.MonkeyPatch, machine: Machine) -> None:
    """Generate code for another machine than this one, until the test ends."""
    for module in (plan, accumulators):
        monkeypatch.setattr(module, "this_machine", lambda: machine)
