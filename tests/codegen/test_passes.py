"""The table of passes: every row does what it says, and together they are what `lower` does."""

from collections import Counter
from collections.abc import Hashable
from dataclasses import replace

import numpy as np
import pytest

from polygym.codegen import pipeline
from polygym.codegen.c import print_c
from polygym.codegen.common.loop_annotation import ScalarReplacement, UnrollAndJam, VectorLoop
from polygym.codegen.llvm.emit_module import emit_llvm
from polygym.codegen.llvm.jit import optimize
from polygym.codegen.loopir.ir import (
    LoopProgram,
    count_instances,
    instances_in,
    loops_in,
)
from polygym.codegen.loopir.pass_types import Representation
from polygym.codegen.passes import LOOP_PASSES, PASSES, code_key
from polygym.codegen.pipeline import lower, lowering_trace
from polygym.codegen.stages import Stage, pass_list_text, pass_named, stage_after
from polygym.codegen.transforms import full_tile_separation
from polygym.codegen.tree.build import build_tree
from polygym.codegen.validate.interpreter import make_runner
from polygym.errors import InputError
from polygym.frontend.c import parse_text
from polygym.mapping.mapping import DEFAULT_MAPPING, Mapping, parse_mapping
from polygym.poly.legality import LegalSchedule
from polygym.poly.scheduling.baselines import isl_schedule, original_schedule
from polygym.poly.scheduling.strategy import ISL
from polygym.programs import load_program
from polygym.search.strategies.candidates import SearchSpace
from polygym.search.strategies.neighborhood import mutate_mapping
from tests.codegen.mapped_programs import scop_of
from tests.codegen.transforms.test_tile_packing import PRODUCT, SIZES

WHOLE = "tile=8 unroll_jam=2 vector_bits=256 vector_copies=1 threads=2 separate=on"
NAMES = [row.name for row in PASSES]


def legal_of(name: str) -> LegalSchedule:
    scop = scop_of(name)
    return LegalSchedule(scop, isl_schedule(scop))


def stage(name: str, program: str, text: str) -> Stage:
    """Return what a pass leaves of isl's schedule of a program."""
    return stage_after(pass_named(name), legal_of(program), parse_mapping(text))


def annotations(result: Stage) -> set[type]:
    assert isinstance(result.value, LoopProgram)
    return {type(loop.annotation) for loop in loops_in(result.value.body)}


def test_the_table_is_in_order_and_every_row_has_a_line() -> None:
    assert len(set(NAMES)) == len(NAMES)
    forms = [row.produces for row in PASSES]
    assert forms == sorted(forms, key=list(Representation).index)
    lines = pass_list_text().splitlines()
    assert [line.split()[0] for line in lines] == NAMES
    assert all(line.endswith(row.summary) for row, line in zip(PASSES, lines, strict=True))
    assert max(map(len, lines)) <= 105
    with pytest.raises(InputError, match=r"found 'peal'; passes in order:\n  build  "):
        pass_named("peal")


def test_the_way_ends_in_what_is_lowered() -> None:
    legal, mapping = legal_of("columns"), parse_mapping(WHOLE)
    way, lowered = lowering_trace(legal, mapping, None), lower(legal, mapping)
    assert len(way.loops) == 1 + len(LOOP_PASSES)
    assert way.loops[-1] == lowered == stage("pack_arrays", "columns", WHOLE).value
    emitted = emit_llvm(lowered)
    assert stage("emit", "columns", WHOLE).value == emitted
    assert stage("optimize", "columns", WHOLE).value == optimize(emitted, 2)
    assert stage("build", "columns", WHOLE).value == build_tree(legal)
    assert stage("plan", "columns", WHOLE).value == way.tree != build_tree(legal)


@pytest.mark.parametrize(
    ("name", "program", "text", "without"),
    [
        ("plan", "product", "default", "sequential"),
        ("sink_reduction_init", "convolution", "tile=off", "tile=off scalar_replacement=off"),
        ("separate_full_tiles", "product", "tile=8 separate=on", "tile=8"),
        ("unroll_jam", "product", "unroll_jam=2", "unroll_jam=1"),
        ("vectorize", "product", "vector_bits=256", "vector_bits=off"),
        ("pack_arrays", "columns", "tile=off vector_bits=256", "tile=off vector_bits=256 pack=off"),
    ],
)  # fmt: skip
def test_a_pass_does_something_where_it_is_asked_for(
    name: str, program: str, text: str, without: str
) -> None:
    done, left_out = stage(name, program, text), stage(name, program, without)
    assert (done.changed, left_out.changed) == (True, False)
    assert "no change" in left_out.text.splitlines()[0]
    assert "no change" not in done.text
    assert done.after.summary in done.text.splitlines()[0]


def test_tiles_are_packed_at_known_sizes() -> None:
    scop = parse_text(PRODUCT)
    legal = LegalSchedule(scop, original_schedule(scop))
    text = "tile=off vector_bits=256"
    packed, before = (
        stage_after(pass_named(name), legal, parse_mapping(text), SIZES).value
        for name in ("pack_tiles", "generate")
    )
    assert isinstance(packed, LoopProgram)
    assert isinstance(before, LoopProgram)
    assert {a.name for a in packed.scop.arrays} - {a.name for a in before.scop.arrays} == {"B_tile"}
    off = parse_mapping(f"{text} pack=off")
    assert not stage_after(pass_named("pack_tiles"), legal, off, SIZES).changed


def test_annotations_are_carried_out_by_their_passes() -> None:
    """And until then the printed C says what a loop has been given to do."""
    text = "unroll_jam=2 vector_bits=256 vector_copies=3"
    generated = stage("generate", "product", text)
    assert {UnrollAndJam, VectorLoop, ScalarReplacement} <= annotations(generated)
    assert "{  /* jam 2 */" in generated.text
    assert "{  /* 3 vectors of 256 bits */" in generated.text
    assert "{  /* holds S1 */" in generated.text
    assert UnrollAndJam not in annotations(stage("unroll_jam", "product", text))
    assert VectorLoop in annotations(stage("unroll_jam", "product", text))
    assert not annotations(stage("vectorize", "product", text)) & {UnrollAndJam, VectorLoop}
    assert isinstance(generated.value, LoopProgram)
    assert "/*" not in print_c(generated.value)


def test_both_arms_of_a_condition_run_in_lanes_whatever_they_call() -> None:
    done = stage("vectorize", "arms", "tile=off vector_bits=256").value
    assert isinstance(done, LoopProgram)
    lanes = {
        instance.statement for instance in instances_in(done.body) if instance.lanes is not None
    }
    assert lanes == {statement.name for statement in done.scop.statements}


@pytest.mark.parametrize("program", ["product", "lu", "jacobi", "statistics"])
def test_no_pass_loses_an_instance(program: str) -> None:
    """By running them: after every pass over the loops the same instances run, each once."""
    legal = legal_of(program)
    text = "tile=4 unroll_jam=2 vector_bits=off separate=on pack=off threads=2"
    parameters = [parameter.name for parameter in legal.scop.parameters]
    sizes = [7 + k for k in range(len(parameters))]
    first, *others = (
        Counter(make_runner(loops.body, parameters)(*sizes))
        for loops in lowering_trace(legal, parse_mapping(text), None).loops
    )
    assert set(first.values()) == {1}
    assert len(others) == len(LOOP_PASSES)
    assert all(counted == first for counted in others)


def test_tiles_stay_together_where_separating_them_makes_too_much_code(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    text = "tile=4 separate=on unroll_jam=2 vector_bits=256"
    apart = stage("separate_full_tiles", "product", text)
    assert isinstance(apart.value, LoopProgram)
    together = stage("pack_arrays", "product", text.replace("separate=on", "separate=off")).value
    assert isinstance(together, LoopProgram)
    limit = count_instances(together.body)
    for module in (full_tile_separation, pipeline):
        monkeypatch.setattr(module, "max_instances", lambda _: limit)
    assert stage("separate_full_tiles", "product", text).changed is False
    assert stage("pack_arrays", "product", text).value == replace(
        together, mapping=parse_mapping(text)
    )


def test_a_simpler_mapping_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is shown is the way that the program really takes."""
    monkeypatch.setattr(pipeline, "max_instances", lambda _: 0)
    result = stage("plan", "product", "threads=2 tile=4")
    assert result.request.mapping == parse_mapping("sequential threads=2 parallel=dynamic")
    head = result.text.splitlines()[0]
    assert f"compiled with mapping: {result.request.mapping}" in head
    assert "[(" not in result.text, "no tiles"


@pytest.mark.parametrize("name", ["gemm", "jacobi-2d", "trisolv", "atax"])
def test_mappings_of_one_key_make_the_same_code(name: str) -> None:
    program = load_program(name)
    sizes = {parameter.name: 20 + k for k, parameter in enumerate(program.scop.parameters)}
    legal = LegalSchedule(program.scop, isl_schedule(program.scop))
    genes = SearchSpace.for_program(
        program.scop, (ISL,), sizes, replace(DEFAULT_MAPPING, threads=2)
    )
    rng = np.random.default_rng(0)
    made: dict[Hashable, set[str]] = {}
    mappings: list[Mapping] = []
    while len(mappings) < 30:
        mapping = genes.sample(rng).mapping
        mappings += [mapping, mutate_mapping(mapping, rng)]
    for mapping in mappings:
        way = lowering_trace(legal, mapping, sizes)
        if way.request.mapping != mapping:
            continue  # that was beyond isl
        made.setdefault(code_key(way.tree, mapping), set()).add(emit_llvm(way.program))
    assert all(len(texts) == 1 for texts in made.values())
    assert len({text for texts in made.values() for text in texts}) > 5
    assert len(made) < len(mappings)  # some mappings make the same code
