"""Hashes that are kept: those that would be worked out, and of no interest to anybody else."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from copy import copy, deepcopy
from dataclasses import dataclass, fields, replace

import pytest

from polygym.cached_hash import CachedHash, cache_hash
from polygym.codegen.common.loop_annotation import UnrollAndJam
from polygym.codegen.common.packing_candidates import PackingCandidates
from polygym.codegen.tree.ir import Band, BandMember, Branch, FlooredRow, Leaf, SequenceNode
from polygym.mapping.mapping import parse_mapping
from polygym.poly.schedule import ScheduleRow
from polygym.poly.scheduling.strategy import ISL
from polygym.search.strategies.candidates import Candidate
from tests.c_programs import kernel_scop


def values() -> list[CachedHash]:
    """Return a value of every class that keeps its hash."""
    row = ScheduleRow((1, 0), (2,), -1)
    part = FlooredRow((row, ScheduleRow((0, 1), (0,), 3)), 32)
    member = BandMember((part,), True, UnrollAndJam(4))
    band = Band(("S", "T"), (member,), Leaf())
    branch = Branch(("S", "T"), band)
    mapping = parse_mapping("threads=2 tile=8x16 S:tile=4")
    sequence = SequenceNode((branch,))
    packing = PackingCandidates(kernel_scop("gemm"), None, (frozenset(("S0", "S1")),))
    trees = [row, part, member, band, branch, sequence]
    return [*trees, mapping, Candidate(ISL, mapping), packing]


def twins() -> list[tuple[CachedHash, CachedHash]]:
    """Return values of which each is there twice."""
    return list(zip(values(), values(), strict=True))


IDS = [type(cached_hash).__name__ for cached_hash in values()]


def test_all_that_keep_their_hash_are_looked_at() -> None:
    assert set(CachedHash.__subclasses__()) >= {type(cached_hash) for cached_hash in values()}
    own = {
        subclass
        for subclass in CachedHash.__subclasses__()
        if subclass.__module__.startswith("polygym.")
    }
    # Making a class with slots leaves another one of the same name behind.
    assert {class_.__name__ for class_ in own} == set(IDS)


@pytest.mark.parametrize(("one", "other"), twins(), ids=IDS)
def test_equal_values_have_equal_hashes(one: CachedHash, other: CachedHash) -> None:
    assert not hasattr(one, "_hash")
    hash_value = hash(one)
    assert one._hash == hash_value == hash(one) == hash(other)
    assert one is not other
    assert one == other
    assert {one: 1}[other] == 1


@pytest.mark.parametrize(("one", "other"), twins(), ids=IDS)
def test_what_is_kept_is_no_field(one: CachedHash, other: CachedHash) -> None:
    hash(one)
    assert "_hash" not in {entry.name for entry in fields(one)}  # type: ignore[arg-type]
    assert repr(one) == repr(other)
    assert one == other
    for copied in (copy(one), deepcopy(one), pickle.loads(pickle.dumps(one))):
        assert copied == one
        assert not hasattr(copied, "_hash")
        assert hash(copied) == hash(one)


def test_a_changed_value_has_a_hash_of_its_own() -> None:
    row = ScheduleRow((1, 0), (2,), -1)
    hash(row)
    other = replace(row, constant=7)
    assert not hasattr(other, "_hash")
    assert hash(other) == hash(ScheduleRow((1, 0), (2,), 7)) != hash(row)


def test_it_is_worked_out_once() -> None:
    @dataclass(frozen=True)
    class Counted:
        count: list[int]

        def __hash__(self) -> int:
            self.count.append(1)
            return 5

    @cache_hash
    @dataclass(frozen=True, slots=True)
    class Value(CachedHash):
        inner: Counted

    value = Value(Counted([]))
    assert [hash(value) for _ in range(3)] == [hash(value)] * 3
    assert len(value.inner.count) == 1


def test_another_process_works_it_out_anew() -> None:
    """Strings have other hashes there."""
    hashes = values()
    for cached_hash in hashes:
        hash(cached_hash)
    program = (
        "import pickle, sys; from tests.test_cached_hash import values;"
        "found = pickle.loads(sys.stdin.buffer.read());"
        "assert [{one: 1}[other] for one, other in zip(found, values(), strict=True)];"
        "print(hash(found[3]))"
    )
    seen = {
        subprocess.run(
            [sys.executable, "-c", program],
            input=pickle.dumps(hashes),
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(seen) == 2
