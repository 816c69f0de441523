"""Packs, against the loops that are made in the end: what they read from copies, what they copy."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import pytest

from polygym.codegen.common.loop_annotation import DiagonalLoop, LaneRows
from polygym.codegen.loopir.ir import Block, Instance, Loop, LoopProgram, Node, map_children
from polygym.codegen.passes import LOOP_PASSES
from polygym.codegen.pipeline import lowering_trace
from polygym.codegen.transforms.tile_packing import pack_tiles
from polygym.codegen.transforms.vectorization import statements_in
from polygym.codegen.validate.interpreter import make_runner
from polygym.cost.features.candidates.candidate_vector import CandidateFeatures, candidate_features
from polygym.cost.features.candidates.nest_vectors import NEST_COLUMNS
from polygym.frontend.c import parse_text
from polygym.ir.scop import Scop
from polygym.mapping.mapping import DEFAULT_MAPPING, Mapping, parse_mapping
from polygym.poly.legality import LegalSchedule
from polygym.poly.scheduling.baselines import isl_schedule, original_schedule
from polygym.search.strategies.neighborhood import mutate_mapping
from tests.c_programs import kernel_scop
from tests.cost.features.sample_schedules import program

SUM = """
void f(int n, int m, double C[n][m], double A[n][m], double B[m][m]) {{
#pragma scop
  for (int i = 0; i < n; i++)
    for (int j = {first}; j < {end}; j++)
      for (int k = 0; k < m; k++)
S:      C[i][j] += {term};
#pragma endscop
}}
"""
BOXES = {
    "a product with one factor turned": "A[i][k] * B[j][k]",
    "two rows of it": "A[i][k] * B[j][k] + B[j + 1][k]",
    "the same one twice": "B[j][k] * B[j][k]",
    "none turned": "A[i][k] * B[k][j]",
    "along a diagonal": "A[i][k] * B[j + k][k]",
    "every second row": "A[i][k] * B[2 * j][k]",
    "a row of it": "A[i][k] * B[j][3]",
}
ENDS = {
    "two rows of it": (0, "m - 1"), "along a diagonal": (0, 1), "every second row": (0, "m / 2"),
}  # fmt: skip
# How many reads of the statement are of copies, whatever the tiles.
READS = {
    "a product with one factor turned": 1,
    "two rows of it": 2,
    "the same one twice": 2,
    "a row of it": 1,
}

TEXTS = {
    "a triangle": """
void f(int n, double A[n][n], double C[n][n]) {
#pragma scop
  for (int i = 0; i < n; i++)
    for (int j = 0; j <= i; j++)
      for (int k = 0; k < n; k++)
S:      C[i][j] += A[i][k] * A[j][k];
#pragma endscop
}
""",
    "factorising": """
void f(int n, double A[n][n]) {
#pragma scop
  for (int i = 0; i < n; i++)
    for (int j = 0; j < i; j++) {
      for (int k = 0; k < j; k++)
S:      A[i][j] -= A[i][k] * A[j][k];
T:    A[i][j] /= A[j][j];
    }
#pragma endscop
}
""",
    "written between": """
void f(int n, double A[n][n], double C[n][n], double D[n][n]) {
#pragma scop
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++)
      for (int k = 0; k < n; k++)
S:      C[i][j] += A[i][k] * A[j][k];
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++)
T:    A[i][j] = C[i][j] * 2.0;
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++)
      for (int k = 0; k < n; k++)
U:      D[i][j] += C[k][i] * A[j][k];
#pragma endscop
}
""",
    "three dimensions": """
void f(int n, int m, double C[n][m], double A[m][n][4], double B[n][m]) {
#pragma scop
  for (int i = 0; i < n; i++)
    for (int j = 0; j < m; j++)
      for (int k = 0; k < n; k++)
        for (int l = 0; l < 4; l++)
S:        C[i][j] += A[j][k][l] * B[i][j];
#pragma endscop
}
""",
}

# Registers hold one block of one vector, so that every read of a statement is one of a block.
PLAIN = "unroll_jam=1 vector_copies=1 vector_bits=256"
TILES = ("tile=off", "tile=8", "tile=64x8x8", "tile=16x8x4", "tile=8x64x8", "tile=48x16x16")


@dataclass(frozen=True)
class Copies:
    """What there is in the loops: of every statement, how many reads are of copies, of how much."""

    reads: dict[str, int]
    elements: int


def only(node: Node, names: frozenset[str]) -> Node | None:
    """Return the loops around some statements."""
    match node:
        case Instance(statement=name):
            return node if name in names else None
        case Block(children):
            nodes = tuple(kept for child in children if (kept := only(child, names)) is not None)
            return Block(nodes) if nodes else None
        case Loop(body=body):
            inside = only(body, names)
            return None if inside is None else map_children(node, lambda _: inside)
        case _:
            return map_children(node, lambda part: only(part, names) or Block(()))


def counted(program: LoopProgram, scop: Scop, sizes: dict[str, int]) -> Copies:
    """Go through all that is copied by packs, element by element."""
    own, names = (
        {array.name for array in scop.arrays},
        {statement.name for statement in scop.statements},
    )
    packs = re.compile(f"({'|'.join(own)})_(packed|tile)_*")
    alive = statements_in(program.body)
    statements = [statement for statement in program.scop.statements if statement.name in alive]
    copying = {statement.name for statement in statements if packs.fullmatch(statement.write.array)}
    body = only(program.body, frozenset(copying))
    parameters = [parameter.name for parameter in scop.parameters]
    run = None if body is None else make_runner(body, parameters)
    points = [] if run is None else run(*(sizes[name] for name in parameters))
    reads: dict[str, int] = {}
    for statement in statements:
        count = sum(packs.fullmatch(read.array) is not None for read in statement.reads)
        if statement.name not in copying and count:
            before = max((name for name in names if statement.name.startswith(name)), key=len)
            reads[before] = max(count, reads.get(before, 0))
    return Copies(reads, len(points))


def of_loops(
    legal: LegalSchedule, mapping: Mapping, sizes: dict[str, int]
) -> tuple[Copies, Copies]:
    """Return what tiles, and what copies at all, there are in the loops that are made."""
    way, scop = lowering_trace(legal, mapping, sizes), legal.scop
    assert way.request.mapping == mapping
    after = {row.name: loops for row, loops in zip(LOOP_PASSES, way.loops[1:], strict=True)}
    first = way.loops[0]
    tiles = counted(pack_tiles(first) if mapping.pack else first, scop, sizes)
    every = counted(after["pack_arrays"], scop, sizes)
    return tiles, every


def known(features: CandidateFeatures) -> Iterator[tuple[str, float, float]]:
    """Yield of every statement how many reads are of copies, and how many elements these have."""
    for nest, row in zip(features.nests, features.nest_columns, strict=True):
        named = dict(zip(NEST_COLUMNS, row.tolist(), strict=True))
        each = float(nest.work.operations)
        copied = named["copied_per_operation"] * each * nest.work.instances
        yield nest.work.name, named["packed_per_operation"] * each, copied


def compared(scop: Scop, mapping: str, sizes: dict[str, int]) -> tuple[Copies, Copies]:
    """Compare what is known of packs with what there is; return the tiles, and all copies."""
    legal = LegalSchedule(scop, original_schedule(scop))
    tiles, every = of_loops(legal, parse_mapping(mapping), sizes)
    rows = list(known(candidate_features(legal, parse_mapping(mapping), sizes)))
    assert {name: count for name, count, _ in rows if count} == pytest.approx(every.reads)
    assert sum(copied for _, _, copied in rows) == pytest.approx(every.elements)
    return tiles, every


def sized(scop: Scop, size: int) -> dict[str, int]:
    return {p.name: size + 3 * place for place, p in enumerate(scop.parameters)}


@pytest.mark.rotates
@pytest.mark.parametrize("tile", TILES)
@pytest.mark.parametrize("name", BOXES)
def test_what_is_read_from_copies_of_boxes(name: str, tile: str) -> None:
    first, end = ENDS.get(name, (0, "m"))
    scop = parse_text(SUM.format(first=first, end=end, term=BOXES[name]))
    for size in (24, 64):
        _, every = compared(scop, f"{tile} {PLAIN}", sized(scop, size))
        assert every.reads.get("S", 0) == READS.get(name, 0)
    compared(scop, f"{tile} {PLAIN}", sized(scop, 125))


def test_a_sum_that_goes_down_rows_far_apart() -> None:
    """At 128 doubles a row has a copy with longer ones, if the sum has more than 64 terms."""
    scop = parse_text(SUM.format(first=0, end="m", term=BOXES["none turned"]))
    for tile, size, elements in (
        ("off", 128, 128**2),
        ("off", 124, 0),
        ("off", 64, 0),
        ("8", 128, 0),
    ):
        tiles, every = compared(scop, f"tile={tile} {PLAIN}", {"n": 100, "m": size})
        assert (tiles.elements, every.elements) == (0, elements)


@pytest.mark.rotates
@pytest.mark.parametrize("tile", TILES)
@pytest.mark.parametrize("name", TEXTS)
def test_what_is_read_from_copies_elsewhere(name: str, tile: str) -> None:
    scop = parse_text(TEXTS[name])
    for size in (24, 40):
        compared(scop, f"{tile} {PLAIN}", sized(scop, size))


def test_both_kinds_of_copies_are_there() -> None:
    """Tiles of all rows, or of half of them; the whole array where tiles would be made thrice."""
    scop = parse_text(SUM.format(first=0, end="m", term=BOXES["a product with one factor turned"]))
    for tile, times, in_tiles in (("64x8x8", 1, True), ("48x16x16", 2, True), ("8", 1, False)):
        tiles, every = compared(scop, f"tile={tile} {PLAIN}", {"n": 64, "m": 64})
        assert every.elements == times * 64 * 64
        assert (tiles.elements > 0) == in_tiles


def test_tiles_of_what_other_tiles_write() -> None:
    """In tiles in which only sums wait; how many there are is known but for those at the edges."""
    scop, mapping, sizes = kernel_scop("cholesky"), parse_mapping("threads=2"), {"n": 200}
    legal = LegalSchedule(scop, isl_schedule(scop))
    tiles, _ = of_loops(legal, mapping, sizes)
    rows = list(known(candidate_features(legal, mapping, sizes)))
    assert [name for name, count, _ in rows if count] == list(tiles.reads)
    assert len(tiles.reads) == 1
    assert tiles.elements / 1.5 < sum(copied for *_, copied in rows) < tiles.elements * 1.5


def test_the_example() -> None:
    scop = parse_text(SUM.format(first=0, end="m", term=BOXES["a product with one factor turned"]))
    legal, sizes = LegalSchedule(scop, original_schedule(scop)), {"n": 64, "m": 64}
    for tile in ("64x8x8", "8"):
        features = candidate_features(legal, parse_mapping(f"tile={tile} {PLAIN}"), sizes)
        (row,) = features.nest_columns
        assert row[NEST_COLUMNS.index("copied_per_operation")] == 1 / 128


def test_without_packs_vectors_gather() -> None:
    scop = parse_text(SUM.format(first=0, end="m", term=BOXES["a product with one factor turned"]))
    legal, sizes = LegalSchedule(scop, original_schedule(scop)), {"n": 64, "m": 64}
    rows = [
        dict(zip(NEST_COLUMNS, features.nest_columns[0].tolist(), strict=True))
        for pack in ("on", "off")
        for features in [
            candidate_features(legal, parse_mapping(f"pack={pack} tile=8 {PLAIN}"), sizes)
        ]
    ]
    assert rows[0]["packed_per_operation"] > 0 == rows[0]["gathers_per_operation"]
    assert rows[1]["packed_per_operation"] == rows[1]["copied_per_operation"] == 0


def test_rows_and_diagonals_in_lanes() -> None:
    """Known of exactly those nests whose loops are annotated so, without packs of none."""
    for name, wanted in (("adi", LaneRows), ("seidel-2d", DiagonalLoop), ("gemm", None)):
        scop = kernel_scop(name)
        sizes = {p.name: 200 for p in scop.parameters}
        legal = LegalSchedule(scop, isl_schedule(scop))
        for pack in ("on", "off"):
            mapping = parse_mapping(f"pack={pack} vector_bits=512")
            features = candidate_features(legal, mapping, sizes)
            turned = features.nest_columns[:, NEST_COLUMNS.index("turned")].tolist()
            assert turned == [
                any(
                    isinstance(annotation, LaneRows | DiagonalLoop)
                    for annotation in nest.annotations
                )
                for nest in features.nests
            ]
            assert any(turned) == (wanted is not None and pack == "on")


def test_names_and_the_order_of_reads_say_nothing() -> None:
    texts = [
        SUM.format(first=0, end="m", term=term)
        for term in ("A[i][k] * B[j][k] + B[j][3]", "B[j][3] + B[j][k] * A[i][k]")
    ]
    texts.append(re.sub(r"\bB\b", "A0", texts[0]).replace("A[", "Z["))
    for tile in TILES:
        vectors = []
        for text in texts:
            scop = parse_text(text)
            legal = LegalSchedule(scop, original_schedule(scop))
            features = candidate_features(
                legal, parse_mapping(f"{tile} threads=2"), sized(scop, 64)
            )
            vectors.append(features.vector)
            assert features.nest_columns[0, NEST_COLUMNS.index("packed_per_operation")] > 0
        for other in vectors[1:]:
            np.testing.assert_allclose(vectors[0], other, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(
    "name", ["syrk", "gemm", "random:16", "random:27", "random:42", "random:55"]
)
def test_programs_under_any_mapping(name: str) -> None:
    """Which statements read copies, and what is copied, under random mappings."""
    scop = program(name)
    rng = np.random.default_rng(len(name))
    legal, sizes = LegalSchedule(scop, isl_schedule(scop)), sized(scop, 72)
    tried = [replace(DEFAULT_MAPPING, threads=2)]
    while len(tried) < 5:
        tried.append(mutate_mapping(tried[int(rng.integers(len(tried)))], rng))
    for mapping in tried:
        tiles, every = of_loops(legal, mapping, sizes)
        rows = list(known(candidate_features(legal, mapping, sizes)))
        assert {name for name, count, _ in rows if count} == every.reads.keys()
        assert sum(copied for *_, copied in rows) == pytest.approx(every.elements)
        assert tiles.elements <= every.elements
