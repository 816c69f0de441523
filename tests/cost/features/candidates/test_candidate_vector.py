"""Features of candidates: the same whatever things are called, and of what decides time."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import pytest

from polygym.cost import FEATURE_NAMES, CandidateFeatures, candidate_features
from polygym.cost.features.candidates.nest_vectors import NEST_COLUMNS
from polygym.cost.features.loops.column_names import CONTEXT_COLUMNS, signed_log
from polygym.frontend.c import parse_text
from polygym.ir.scop import Scop
from polygym.mapping.machine import Machine
from polygym.mapping.mapping import Mapping, parse_mapping
from polygym.poly.legality import LegalSchedule
from polygym.poly.schedule import Schedule, parse_schedule
from polygym.poly.scheduling.baselines import isl_schedule, original_schedule
from polygym.programs.generate import generate_source
from polygym.search.strategies.schedule_edits import edit_schedule
from tests.c_programs import kernel_scop

MACHINE = Machine(vector_bits=512, registers=32)
MAPPINGS = (
    "sequential",
    "default threads=2",
    "tile=8x16x4 unroll_jam=2",
    "vector_bits=off pack=off",
)


def of(text: str, mapping: str, size: int = 64) -> CandidateFeatures:
    scop = parse_text(text)
    legal = LegalSchedule(scop, isl_schedule(scop))
    sizes = {p.name: size + 7 * place for place, p in enumerate(scop.parameters)}
    return candidate_features(legal, parse_mapping(mapping), sizes, MACHINE)


def renamed(text: str) -> str:
    """Return the program with other names for arrays, counters and the function."""
    text = re.sub(r"\b([A-HX-Z]\d*)\b(?=\[)", r"array_\1", text)
    return re.sub(r"\b([ijkl]\d*)\b", r"counter_\1", text).replace("random_", "other_")


@pytest.mark.rotates
@pytest.mark.parametrize("mapping", MAPPINGS)
@pytest.mark.parametrize("seed", [0, 3, 7, 11])
def test_names_say_nothing(seed: int, mapping: str) -> None:
    text = generate_source(seed)
    first, second = of(text, mapping), of(renamed(text), mapping)
    assert renamed(text) != text
    np.testing.assert_allclose(first.vector, second.vector, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(first.context, second.context, rtol=1e-9, atol=1e-9)


@pytest.mark.rotates
@pytest.mark.parametrize("mapping", MAPPINGS)
@pytest.mark.parametrize("name", ["gemm", "lu", "fdtd-2d", "deriche", "durbin"])
def test_every_kernel_has_finite_features(name: str, mapping: str) -> None:
    scop = kernel_scop(name)
    legal = LegalSchedule(scop, original_schedule(scop))
    sizes = {p.name: 40 + place for place, p in enumerate(scop.parameters)}
    features = candidate_features(legal, parse_mapping(mapping), sizes, MACHINE)
    assert features.vector.shape == (len(FEATURE_NAMES),)
    assert features.context.shape[1] == len(CONTEXT_COLUMNS)
    assert np.isfinite(features.vector).all()
    assert np.isfinite(features.context).all()


@pytest.mark.parametrize("name", ["gemm", "fdtd-2d", "correlation", "nussinov"])
def test_what_was_looked_at_before_says_nothing(name: str) -> None:
    scop = kernel_scop(name)
    sizes = {p.name: 40 + place for place, p in enumerate(scop.parameters)}
    rng = np.random.default_rng(4)
    schedules = [original_schedule(scop), isl_schedule(scop)]
    schedules += [
        edited for _ in range(5) if (edited := edit_schedule(schedules[-1], scop, rng)) is not None
    ]
    both = [
        (schedule, parse_mapping(mapping)) for schedule in schedules for mapping in MAPPINGS[1:3]
    ]

    def look(scop: Scop, candidates: Iterable[tuple[Schedule, Mapping]]) -> list[bytes]:
        features = (
            candidate_features(LegalSchedule(scop, order), mapping, sizes, MACHINE)
            for order, mapping in candidates
        )
        return [feature.vector.tobytes() for feature in features]

    # Of a program with another name nothing is remembered.
    expected = look(replace(scop, name="another"), reversed(both))
    assert look(scop, both) == expected[::-1]


def column(features: CandidateFeatures, name: str) -> float:
    return float(features.vector[FEATURE_NAMES.index(name)])


def test_what_is_known_of_a_product() -> None:
    """Lanes, copies, held sums, threads; tiles make traffic less, interchange makes it more."""
    scop = kernel_scop("gemm")
    sizes = dict.fromkeys(("ni", "nj", "nk"), 1000)
    whole = LegalSchedule(scop, original_schedule(scop))
    plain = candidate_features(whole, parse_mapping("sequential"), sizes, MACHINE)
    fast = candidate_features(whole, parse_mapping("default threads=2"), sizes, MACHINE)
    assert column(fast, "lanes_main") > column(plain, "lanes_main")
    assert column(fast, "held_main") == 1.0
    assert column(fast, "threads_main") == 2.0
    assert column(fast, "copies_main") > 2.0
    assert column(fast, "traffic_19_main") < column(plain, "traffic_19_main") - 2
    assert column(fast, "total_cycles") < column(plain, "total_cycles")
    turned = parse_schedule(
        "[ni, nj, nk] -> { S0[i, j] -> [0, i, j, 0]; S1[i, k, j] -> [1, j, k, i] }", scop
    )
    bad = candidate_features(
        LegalSchedule(scop, turned), parse_mapping("sequential"), sizes, MACHINE
    )
    assert column(bad, "traffic_15_main") > column(plain, "traffic_15_main")
    # A cache that is larger is never filled more often.
    traffic = [
        column(plain, f"total_{name}") for name in NEST_COLUMNS if name.startswith("traffic")
    ]
    assert traffic == sorted(traffic, reverse=True)


def test_the_scale_of_numbers() -> None:
    assert signed_log(np.array([0.0, 1.0, -3.0])).tolist() == [0.0, 1.0, -2.0]
