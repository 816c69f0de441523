"""Parallel loops: the same bits however many threads there are, also where there is no OpenMP."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from polygym.codegen.common.loop_annotation import ParallelLoop
from polygym.codegen.llvm.loops import emit_parallel
from polygym.codegen.loopir.ir import Block, Guard, Instance, Loop, Node
from polygym.codegen.pipeline import lower
from polygym.foreign import calls as native
from polygym.foreign import openmp
from polygym.ir.scop import Scop
from polygym.mapping.mapping import Mapping, WorkSharing, parse_mapping
from polygym.poly.legality import LegalSchedule
from polygym.poly.scheduling.baselines import isl_schedule, original_schedule
from polygym.runtime import loader
from tests.codegen.mapped_programs import scop_of
from tests.codegen.test_machine_code import observable
from tests.oracles.compiled_runs import random_arrays, run_natively
from tests.oracles.threads import every_loop_shared
from tests.oracles.tuning import tune

NAMES = (
    "product",
    "jacobi",
    "seidel",
    "statistics",
    "mixed_types",
    "fields",
    "buffered",
    "scalars",
)
TEXTS = (
    "default",
    "parallel=static tile=3",
    "tile=4x2 outer_tile=2 diamond=off",
    "tile=off vector_bits=off",
)


def bits(scop: Scop, mapping: Mapping, sizes: dict[str, int]) -> dict[str, bytes]:
    """Return what isl's schedule computes under a mapping from the same random arrays."""
    arrays = random_arrays(scop, sizes, np.random.default_rng(3))
    run_natively(scop, isl_schedule(scop), sizes, arrays, mapping)
    return {name: arrays[name].tobytes() for name in observable(scop)}


def sizes_of(scop: Scop) -> dict[str, int]:
    return {p.name: 9 + 4 * k for k, p in enumerate(scop.parameters)}


@pytest.mark.parametrize("name", NAMES)
def test_any_number_of_threads_computes_the_same_bits(name: str) -> None:
    scop = scop_of(name)
    arrays = random_arrays(scop, sizes_of(scop), np.random.default_rng(3))
    run_natively(scop, original_schedule(scop), sizes_of(scop), arrays)
    expected = {key: arrays[key].tobytes() for key in observable(scop)}
    for text in TEXTS:
        for threads in (1, 2, 4):
            mapping = replace(parse_mapping(text), threads=threads)
            with every_loop_shared() as forks:
                assert bits(scop, mapping, sizes_of(scop)) == expected, (text, threads)
            assert set(forks.asked) <= {threads}
            assert not forks.asked or threads > 1


@pytest.mark.parametrize("name", ["product", "jacobi", "seidel", "statistics", "fields"])
def test_loops_really_start_threads(name: str) -> None:
    scop = scop_of(name)
    with every_loop_shared() as forks:
        bits(scop, parse_mapping("threads=2 tile=3"), sizes_of(scop))
    assert forks.asked
    assert set(forks.asked) == {2}


def test_little_work_starts_no_threads() -> None:
    scop = scop_of("product")
    with every_loop_shared() as forks:
        # The limit itself, as it is outside tests.
        with pytest.MonkeyPatch.context() as patch:
            tune(patch, emit_parallel, min_parallel_work=16384)
            bits(scop, parse_mapping("threads=2 tile=3"), {"n": 8, "m": 8, "k": 8})
            assert forks.asked == []
            bits(scop, parse_mapping("threads=2 tile=3"), {"n": 64, "m": 64, "k": 64})
            assert forks.asked


@pytest.fixture
def without_openmp(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Make this machine one that has no OpenMP."""
    monkeypatch.setattr(openmp, "openmp_library", lambda: None)
    loader._fork_address.cache_clear()
    tune(monkeypatch, emit_parallel, min_parallel_work=0)
    yield
    loader._fork_address.cache_clear()


@pytest.mark.usefixtures("without_openmp")
@pytest.mark.parametrize("name", NAMES[:5])
def test_without_openmp_one_thread_does_everything(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    scop = scop_of(name)
    calls: list[int] = []

    def call_once(task: int, data: int, threads: int, flags: int) -> None:
        if data:
            calls.append(threads)
        native._call_once(task, data, threads, flags)

    function = native.fork_callback(call_once)
    monkeypatch.setattr(native, "_serial_fork", function)
    expected = bits(scop, parse_mapping("sequential"), sizes_of(scop))
    assert not calls
    assert bits(scop, parse_mapping("threads=4 tile=3"), sizes_of(scop)) == expected
    assert calls
    assert native.address_of(function) == loader._fork_address()


@pytest.mark.rotates
@pytest.mark.parametrize("threads", [2, 3, 7, 64])
@pytest.mark.parametrize("sharing", [WorkSharing.DYNAMIC, WorkSharing.STATIC])
@pytest.mark.parametrize("n", [1, 2, 5, 16, 33])
def test_every_iteration_is_in_one_chunk(n: int, threads: int, sharing: WorkSharing) -> None:
    """Each element counts how often it was written, whatever the number of chunks."""
    scop = scop_of("transposed")
    mapping = Mapping(threads=threads, parallel=sharing, tile=(), vector_bits=0)
    arrays = random_arrays(scop, {"n": n}, np.random.default_rng(n))
    expected = {key: value.copy() for key, value in arrays.items()}
    run_natively(scop, original_schedule(scop), {"n": n}, expected)
    with every_loop_shared() as forks:
        run_natively(scop, original_schedule(scop), {"n": n}, arrays, mapping)
    assert all(arrays[key].tobytes() == expected[key].tobytes() for key in arrays)
    assert bool(forks.asked) == (n > 1)


def parallel_loops(node: Node) -> list[Loop]:
    match node:
        case Instance():
            return []
        case Block(children):
            return [loop for child in children for loop in parallel_loops(child)]
        case Guard(_, then, otherwise):
            rest = [] if otherwise is None else parallel_loops(otherwise)
            return parallel_loops(then) + rest
        case Loop(body=body, annotation=annotation):
            return [node] * isinstance(annotation, ParallelLoop) + parallel_loops(body)


def test_dynamic_and_static_reach_the_loops() -> None:
    scop = scop_of("product")
    legal = LegalSchedule(scop, original_schedule(scop))
    for text, dynamic in (("threads=2", True), ("threads=2 parallel=static", False)):
        loops = parallel_loops(lower(legal, parse_mapping(text)).body)
        assert loops
        assert {loop.annotation for loop in loops} == {ParallelLoop(dynamic)}
    assert not parallel_loops(lower(legal, parse_mapping("threads=2 parallel=off")).body)
