"""Kinds of machines: which are the same, and which are alike."""

from dataclasses import replace
from pathlib import Path

import pytest

from polygym.runtime.evaluation import fingerprint as module
from polygym.runtime.evaluation.fingerprint import MachineFingerprint, machine_fingerprint

HERE = MachineFingerprint("a processor", "features", 8, ("L1 data 48K", "L2 unified 2048K"), "19.1")


def core(folder: Path, *caches: tuple[str, ...]) -> None:
    """Write what Linux says of the caches of a core."""
    for number, texts in enumerate(caches):
        index = folder / f"index{number}"
        index.mkdir()
        for name, text in zip(("level", "type", "size"), texts, strict=False):
            (index / name).write_text(f"{text}\n")


def test_whatever_decides_times_is_another_key() -> None:
    others = [
        replace(HERE, processor="another"),
        replace(HERE, features="fewer"),
        replace(HERE, cores=4),
        replace(HERE, caches=HERE.caches[:1]),
        replace(HERE, llvm="20.0"),
    ]
    keys = {fingerprint.key for fingerprint in (HERE, *others)}
    assert len(keys) == 6
    assert replace(HERE).key == HERE.key
    assert HERE.key == "0b8c8dbe6778", "keys are kept in files, and stay what they are"


@pytest.mark.parametrize(
    ("other", "is_like"),
    [
        (replace(HERE, llvm="20.0", cores=64, caches=()), True),
        (replace(HERE, processor="another"), False),
        (replace(HERE, features="fewer"), False),
    ],
)
def test_machines_are_alike_by_processor_and_features(
    other: MachineFingerprint, is_like: bool
) -> None:
    assert HERE.is_like(other) is other.is_like(HERE) is is_like


def test_caches_are_those_that_the_system_tells(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_CACHE_FOLDER", tmp_path)
    assert module._cache_descriptions() == ()
    core(tmp_path, ("1", "Data", "48K"), ("2", "Unified"), ("3", "Unified", "32768K"))
    assert module._cache_descriptions() == ("L1 data 48K", "L3 unified 32768K"), "one has no size"


def test_this_machine_is_itself() -> None:
    fingerprint = machine_fingerprint()
    assert fingerprint.is_like(machine_fingerprint())
    assert len(fingerprint.features) == len(fingerprint.key) == 12
    assert fingerprint.cores >= 1
