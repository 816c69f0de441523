"""Values that users keep, pickled by another version: refused in a sentence, never misread."""

import inspect
import pickle
import pkgutil
from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass
from importlib import import_module
from typing import Any

import pytest

import polygym
from polygym.errors import InputError
from polygym.mapping.mapping import parse_mapping
from polygym.pickling import pickle_by_name
from polygym.poly.scheduling.baselines import isl_schedule
from polygym.programs import load_program


def public_values() -> Iterator[type]:
    """Yield the frozen dataclasses with slots that packages have for others."""
    for module_info in pkgutil.walk_packages(polygym.__path__, "polygym."):
        if not module_info.ispkg:
            continue
        package = import_module(module_info.name)
        modules = {info.name for info in pkgutil.iter_modules(package.__path__)}
        for name in set(getattr(package, "__all__", ())) - modules:
            value = getattr(package, name)
            if inspect.isclass(value) and is_dataclass(value) and "__slots__" in vars(value):
                yield value


VALUES = sorted(
    {value for value in public_values() if value.__dataclass_params__.frozen},  # type: ignore[attr-defined]
    key=lambda class_: (class_.__module__, class_.__name__),
)


def test_there_are_public_values() -> None:
    assert {
        "Scop",
        "Schedule",
        "Mapping",
        "SearchResult",
        "PlanningLimits",
        "KernelSummary",
        "Evaluation",
    } <= {class_.__name__ for class_ in VALUES}


@pytest.mark.parametrize("value", VALUES, ids=lambda class_: class_.__name__)
def test_a_list_of_values_is_refused(value: type) -> None:
    """So Python pickles a frozen dataclass with slots, and so versions before 0.3 did."""
    state: list[Any] = [None] * len(fields(value))
    with pytest.raises(InputError, match=r"found one of version before 0\.3: make it again"):
        value.__new__(value).__setstate__(state)


@pickle_by_name
@dataclass(frozen=True, slots=True)
class Result:
    """A value of today."""

    speedup: float
    defects: int = 0


def test_what_is_pickled_comes_back() -> None:
    gemm = load_program("gemm")
    kept = [gemm, isl_schedule(gemm.scop), parse_mapping("tile=32 unroll_jam=4"), Result(1.5, 2)]
    assert pickle.loads(pickle.dumps(kept)) == kept


def test_another_version_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("polygym.pickling.__version__", "9.9.9")
        data = pickle.dumps(Result(1.5))
        assert pickle.loads(data) == Result(1.5)
    with pytest.raises(InputError, match=r"a pickled Result: .* found one of version 9\.9\.9"):
        pickle.loads(data)


def test_other_fields_of_the_same_version_are_refused() -> None:
    state = Result(1.5).__getstate__()
    assert isinstance(state, dict)
    state["fields"] = {"speedup": 1.5, "wrong": 2, "crashed": 3}
    with pytest.raises(InputError, match="expected the fields speedup, defects, found speedup, w"):
        Result.__new__(Result).__setstate__(state)  # type: ignore[attr-defined]
