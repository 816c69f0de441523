"""Rotation: a fixed sixth of the cases, chosen by their names alone."""

from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests import rotation, test_documentation
from tests.rotation import read_durations


@dataclass
class Item:
    """A stand-in for a collected test."""

    nodeid: str
    marks: set[str] = field(default_factory=set)

    def get_closest_marker(self, name: str) -> str | None:
        return name if name in self.marks else None


@pytest.fixture(autouse=True)
def by_day(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rotation, "NIGHTLY", False)


def test_a_sixth_runs_in_its_order_and_always_the_same() -> None:
    chosen = rotation.rotating(range(60))
    assert len(chosen) == 10
    assert chosen == sorted(chosen) == rotation.rotating(range(60))
    assert chosen != list(range(10))


def test_at_least_one_case_runs() -> None:
    assert len(rotation.rotating(["a", "b"])) == 1
    assert rotation.rotating([]) == []


def test_addresses_do_not_matter() -> None:
    cases = [lambda: 1, lambda: 2, object()]
    assert rotation.rotating(cases) == rotation.rotating(cases)
    named = [pytest.param(object(), id=str(number)) for number in range(12)]
    again = [pytest.param(object(), id=str(number)) for number in range(12)]
    assert [case.id for case in rotation.rotating(named)] == [
        case.id for case in rotation.rotating(again)
    ]


def test_a_new_case_leaves_the_choice_of_the_others() -> None:
    few, more = rotation.rotating(range(60)), rotation.rotating(range(61))
    assert len(set(few) & set(more)) >= len(few) - 1


def test_the_hook_chooses_among_the_cases_of_a_function() -> None:
    plain = [Item(f"tests/test_a.py::plain[{n}]") for n in range(12)]
    rotating = [Item(f"tests/test_a.py::seeds[{n}]", {"rotates"}) for n in range(12)]
    nightly = [Item("tests/test_a.py::soak", {"nightly"})]
    left_out = rotation.choose_items([*plain, *rotating, *nightly])  # type: ignore[list-item]
    assert len(left_out) == 10 + 1
    assert not any(item in left_out for item in plain)
    assert nightly[0] in left_out


def test_slow_tests_share_the_time(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = tmp_path / "durations.tsv"
    monkeypatch.setattr(rotation, "read_durations", lambda *_: read_durations(path))
    items = [Item(f"tests/test_a.py::slow[{n}]") for n in range(4000)]
    rotation.write_durations({item.nodeid: 1.0 for item in items}, path)
    assert len(items) - len(rotation.choose_items(items)) == pytest.approx(480, rel=0.1)  # type: ignore[arg-type]
    chosen = {item.nodeid for item in items} - {
        item.nodeid
        for item in rotation.choose_items(items)  # type: ignore[arg-type]
    }
    rotation.write_durations({item.nodeid: 10.0 for item in items}, path)
    fewer = {item.nodeid for item in items} - {
        item.nodeid
        for item in rotation.choose_items(items)  # type: ignore[arg-type]
    }
    assert fewer < chosen  # a test that becomes slower drops out, and no other comes in for it
    assert len(fewer) == pytest.approx(48, abs=21)  # three deviations
    rotation.write_durations({items[0].nodeid: 0.1}, path)
    assert items[0].nodeid not in read_durations(path)
    assert items[0] not in rotation.choose_items(items[:1])  # type: ignore[arg-type]


def test_every_recorded_test_is_in_a_file_that_there_is() -> None:
    root = Path(__file__).parents[1]
    seconds = rotation.read_durations()
    assert seconds
    assert all(took >= rotation.RECORDED_FROM for took in seconds.values())
    missing = {name.partition("::")[0] for name in seconds}
    assert not [file for file in missing if not (root / file).exists()]
    texts = {file: (root / file).read_text() for file in missing}
    for name in seconds:
        file, _, test = name.partition("::")
        function = test.partition("[")[0].rpartition("::")[2]
        assert "test_" not in function or f"def {function}(" in texts[file], name


def test_what_is_marked_always_runs_however_slow(monkeypatch: pytest.MonkeyPatch) -> None:
    items = [Item(f"tests/test_a.py::page[{n}]") for n in range(50)]
    always = [Item(f"tests/test_a.py::start[{n}]", {"always"}) for n in range(50)]
    seconds = {item.nodeid: 1000.0 for item in [*items, *always]}
    monkeypatch.setattr(rotation, "read_durations", lambda: seconds)
    left_out = rotation.choose_items([*items, *always])  # type: ignore[list-item]
    assert left_out == items


def test_the_pages_that_a_new_user_reads_always_run() -> None:
    root = Path(__file__).parents[1]
    for file, test in (
        ("tests/docs/test_site.py", "test_the_site_builds_and_loads_nothing_from_other_hosts"),
        ("tests/test_examples.py", "test_examples_run"),
    ):
        text = (root / file).read_text()
        before = text.partition(f"def {test}(")[0].rpartition("\n\n")[2]
        assert "@pytest.mark.always" in before, f"{file}::{test}"
    always = {
        case.id
        for case in test_documentation.CODE_CASES
        if any(mark.name == "always" for mark in case.marks)
    }
    assert always >= {"README.md", "docs/index.md"}
    assert len([name for name in always if name.startswith("docs/tutorials/")]) >= 3


def test_everything_runs_nightly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rotation, "NIGHTLY", True)
    assert rotation.rotating(range(60)) == list(range(60))
    assert rotation.example_count(300) == 300
    assert rotation.choose_items([Item("a", {"nightly"}), Item("b", {"rotates"})]) == []  # type: ignore[list-item]


def test_hypothesis_has_a_sixth_of_its_examples() -> None:
    assert [rotation.example_count(count) for count in (12, 60, 150, 600)] == [12, 20, 25, 100]
