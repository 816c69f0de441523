"""Estimated cycles: of small loops by hand, of compiled programs by what grows with what."""

from pathlib import Path

import pytest

from polygym.codegen.llvm.emit_module import emit_llvm
from polygym.codegen.llvm.jit import optimization_level, optimize
from polygym.codegen.pipeline import lower
from polygym.cost.machine_code.estimate import estimate_code
from polygym.cost.machine_code.instruction_costs import cost_of
from polygym.cost.machine_code.ir_text import Instruction
from polygym.mapping.machine import Machine
from polygym.mapping.mapping import parse_mapping
from polygym.poly.legality import LegalSchedule
from polygym.poly.scheduling.baselines import original_schedule
from polygym.programs import load_program

NARROW, WIDE = Machine(), Machine(vector_bits=512, registers=32)

SUM = """define void @kernel(ptr %a) {
entry:
  br label %loop

loop:                                             ; preds = %loop, %entry
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %s = phi TYPE [ zeroinitializer, %entry ], [ %t, %loop ]
  %p = getelementptr TYPE, ptr %a, i64 %i
  %x = load TYPE, ptr %p, align 8
  %t = fadd TYPE %s, %x
  %next = add nuw nsw i64 %i, 1
  %c = icmp eq i64 %next, 1000
  br i1 %c, label %exit, label %loop

exit:                                             ; preds = %loop
  store TYPE %t, ptr %a, align 8
  ret void
}
"""


@pytest.mark.parametrize(
    ("kind", "machine", "expected"),
    [
        ("double", NARROW, 3000),  # every addition waits for the one before it
        ("<4 x double>", NARROW, 3000),
        (
            "<56 x double>",
            NARROW,
            14 * 500,
        ),  # fourteen loads, two in a cycle
        ("<64 x double>", NARROW, 18 * 500),  # two of sixteen sums are loaded and stored again
        ("<64 x double>", WIDE, 4000),  # eight loads, and as many additions
    ],
)
def test_a_sum_waits_for_itself(kind: str, machine: Machine, expected: float) -> None:
    code = estimate_code(SUM.replace("TYPE", kind), machine)
    assert code.cycles == pytest.approx(expected, rel=0.1)


def test_what_is_not_there_takes_nothing() -> None:
    assert estimate_code(SUM.replace("TYPE", "double"), NARROW, "other").cycles == 0.0


def test_the_last_iteration_is_waited_for() -> None:
    """Ten additions in a row: 31 cycles an iteration, mostly hidden, and 35 at the end."""
    row = "\n".join(f"  %r{k} = fadd double %r{k - 1}, %x" for k in range(1, 11))
    text = SUM.replace("TYPE", "double").replace(
        "  %t = fadd", f"  %r0 = fneg double %x\n{row}\n  %t = fadd"
    )
    alone = estimate_code(SUM.replace("TYPE", "double"), NARROW).cycles
    assert estimate_code(text.replace("1000", "2"), NARROW).cycles > 35
    assert alone < estimate_code(text, NARROW).cycles < 3 * alone


@pytest.mark.parametrize(
    ("opcode", "rest", "store", "shuffle"),
    [
        ("shufflevector", "<4 x double> %b, <4 x double> poison, <4 x i32> zeroinitializer", 0, 0),
        ("insertelement", "<4 x double> poison, double %x, i64 0", 0, 0),
        ("insertelement", "<4 x double> %v, double %x, i64 1", 0, 1),
        ("call", "void @llvm.memcpy.p0.p0.i64(ptr %a, ptr %b, i64 3200, i1 false)", 110, 0),
    ],
)
def test_broadcasts_are_free_and_copies_take_stores(
    opcode: str, rest: str, store: float, shuffle: float
) -> None:
    cost = cost_of(Instruction("", opcode, rest), NARROW.vector_bits)
    assert (cost.store, cost.shuffle) == (store, shuffle)


def test_memory_that_is_missing_is_not_expected() -> None:
    """A check of what malloc returns does not halve what comes behind it."""
    guarded = SUM.replace("TYPE", "double").replace(
        "entry:\n  br label %loop",
        "entry:\n  %m = icmp eq ptr %a, null\n  br i1 %m, label %exit2, label %loop",
    )
    guarded = guarded.replace("  ret void\n}", "  ret void\n\nexit2:\n  ret void\n}")
    plain = estimate_code(SUM.replace("TYPE", "double"), NARROW)
    assert estimate_code(guarded, NARROW).cycles == pytest.approx(plain.cycles)


def cycles(file: Path, n: int, mapping: str) -> float:
    """Return the estimate of the text's order of a file."""
    program = load_program(str(file), function=None, dataset=None, parameters={"n": n})
    wanted = parse_mapping(mapping)
    legal = LegalSchedule(program.scop, original_schedule(program.scop))
    loops = lower(legal, wanted, dict(program.parameters))
    text = optimize(emit_llvm(loops), optimization_level(wanted))
    return estimate_code(text, NARROW).cycles


@pytest.mark.parametrize("mapping", ["sequential", "default", "tile=16"])
@pytest.mark.parametrize(
    ("bound", "power"), [("j = 0; j < n", 2), ("j = 0; j <= i", 2), ("j = 0; j < 7", 1)]
)
def test_estimates_grow_as_the_loops_do(
    tmp_path: Path, mapping: str, bound: str, power: int
) -> None:
    file = tmp_path / "f.c"
    file.write_text(
        "void f(int n, double a[n][n], double b[n][n]) {\n#pragma scop\n"
        f"  for (int i = 0; i < n; i++)\n    for (int {bound}; j++)\n"
        "      a[i][j] = a[i][j] / b[i][j];\n#pragma endscop\n}\n"
    )
    small, large = (cycles(file, n, mapping) for n in (640, 2560))
    assert large / small == pytest.approx(4**power, rel=0.35)
