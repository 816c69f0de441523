"""The choice among kernels for several processors, in C: the same as that of object code.

Each CPU level has a kernel of its own, in a file that is compiled for it. The function that callers
call asks ``cpuid`` once which of them is the first to run here, the best before the others::

    gemm_kernel(C, A, B, n):  0 → gemm_kernel_x86_64_v4(C, A, B, n)
                              1 → gemm_kernel_x86_64_v3(C, A, B, n)
                              2 → 1, nothing is done

This text is for any processor of its kind.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from polygym.export.c_kernel import kernel_c_text, plan_c_text
from polygym.export.cpu_levels import FEATURE_BITS, CpuLevel, best_first
from polygym.export.exporting import Export
from polygym.export.header import comment_block, kernel_prototype, watched_names
from polygym.export.kernel import KernelPlan


@dataclass(frozen=True, slots=True)
class KernelText:
    """A C file of a kernel: its name without an ending, its text, and the processor of -march.

    ``processor`` is None for the file that chooses: it is for any processor.
    """

    stem: str
    text: str
    processor: str | None


def kernel_texts(export: Export) -> tuple[KernelText, ...]:
    """Return the C files of a kernel: one, or the choice among levels, and one for each."""
    if len(export.plans) == 1:
        ((level, plan),) = export.plans
        return (KernelText(plan.name, kernel_c_text(export), level.name),)
    choice = f"{comment_block(export.comment('-O3'))}\n{dispatch_text(export)}"
    kernels = (
        KernelText(plan.name, plan_c_text(export, level, plan), level.name)
        for level, plan in level_plans(export)
    )
    return (KernelText(export.plan.name, choice, None), *kernels)


def level_plans(export: Export) -> tuple[tuple[CpuLevel, KernelPlan], ...]:
    """Return the plan for each level, the best first, each kernel with a name of its own."""
    by_level = dict(export.plans)
    return tuple(
        (level, replace(plan, name=f"{plan.name}_{level.symbol}"))
        for level in best_first(tuple(by_level))
        for plan in (by_level[level],)
    )


def dispatch_text(export: Export) -> str:
    """Return the C text of the kernel that calls the one for the present processor."""
    plan, plans = export.plan, level_plans(export)
    names = [array.name for array in plan.arrays] + watched_names(plan)
    arguments = ", ".join([*names, *(parameter.name for parameter in plan.parameters)])
    cases = [
        f"  case {number}:\n    return {own.name}({arguments});"
        for number, (_, own) in enumerate(plans)
    ]
    return "\n".join(
        [
            *(f"{kernel_prototype(own)};" for _, own in plans),
            *level_text([level for level, _ in plans]),
            f"{kernel_prototype(plan)}\n{{",
            "  switch (polygym_level()) {",
            *cases,
            "  default:\n    return 1;\n  }\n}\n",
        ]
    )


_HAS_BITS = """static int polygym_has(unsigned leaf, unsigned subleaf, int place, unsigned bits)
{
  unsigned r[4], last = leaf & 0x80000000u;
  __asm__ volatile("cpuid" : "+a"(last), "=b"(r[1]), "=c"(r[2]), "=d"(r[3]) : "2"(0));
  if (last < leaf)
    return 0;
  __asm__ volatile("cpuid" : "=a"(r[0]), "=b"(r[1]), "=c"(r[2]), "=d"(r[3])
                   : "0"(leaf), "2"(subleaf));
  return (r[place] & bits) == bits;
}"""
_SAVES_REGISTERS = 27
"""The bit of leaf 1 that says that ``xgetbv`` may be asked."""


def level_text(levels: Sequence[CpuLevel]) -> Iterator[str]:
    """Yield the lines of the function that says which level is the first to run here.

    ``polygym_level`` returns the number of levels where none runs. Levels that need nothing are not
    asked for.
    """
    if not any(level.required for level in levels):
        yield "static int polygym_level(void)\n{\n  return 0;\n}"
        return
    yield _HAS_BITS
    yield "static int polygym_level(void)\n{"
    yield "  static int known = -1;"
    yield "  int level = __atomic_load_n(&known, __ATOMIC_RELAXED);"
    yield "  if (level >= 0)\n    return level;"
    yield "  unsigned saved = 0, high = 0;"
    yield f"  if (polygym_has(1, 0, 2, 1u << {_SAVES_REGISTERS}))"
    yield '    __asm__ volatile("xgetbv" : "=a"(saved), "=d"(high) : "c"(0));'
    yield "  (void)high;"
    for number, level in enumerate(levels):
        yield f"  {'else ' if number else ''}if ({_condition(level)})\n    level = {number};"
    yield f"  else\n    level = {len(levels)};"
    yield "  __atomic_store_n(&known, level, __ATOMIC_RELAXED);"
    yield "  return level;\n}"


def _condition(level: CpuLevel) -> str:
    """Return the condition under which code of a level runs: the processor, and the system.

    >>> from polygym.export.cpu_levels import cpu_level
    >>> _condition(cpu_level("x86-64"))
    '1'
    """
    masks: dict[tuple[int, int, int], int] = {}
    for name in level.required:
        place = FEATURE_BITS[name]
        key = (place.leaf, place.subleaf, place.register)
        masks[key] = masks.get(key, 0) | 1 << place.bit
    parts = [
        f"polygym_has(0x{leaf:x}, {subleaf}, {register}, 0x{bits:x}u)"
        for (leaf, subleaf, register), bits in sorted(masks.items())
    ]
    if saved := level.saved_registers:
        parts.append(f"(saved & 0x{saved:x}) == 0x{saved:x}")
    return " && ".join(parts) or "1"
