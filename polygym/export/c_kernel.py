"""A kernel as C: the loops of each case, and the function that chooses among them.

The loops are printed from the loop IR after all passes (:mod:`polygym.codegen.c`), so they are
those of the machine code.
"""

from collections.abc import Iterator

from polygym.codegen.c import kernel_prelude, macro_definitions, print_index, print_kernel
from polygym.export.cpu_levels import CpuLevel
from polygym.export.exporting import Export
from polygym.export.header import comment_block, element_type, kernel_prototype, watched_names
from polygym.export.kernel import CpuKernelVariant, KernelPlan


def kernel_c_text(export: Export, level: CpuLevel | None = None) -> str:
    """Return the C text of a kernel for a CPU level, the first one by default."""
    level = level or export.plans[0][0]
    return plan_c_text(export, level, dict(export.plans)[level])


def plan_c_text(export: Export, level: CpuLevel, plan: KernelPlan) -> str:
    """Return the C text of a plan for a CPU level, with all that it needs."""
    threads = " -fopenmp" if plan.threads > 1 else ""
    flags = f"-O3 -march={level.name}{threads}, link with -lm"
    parts = [comment_block(export.comment(flags))]
    parts.append("#include <stdio.h>\n#include <stdlib.h>")
    parts.append(kernel_prelude([variant.program for variant in plan.variants]))
    parts += [print_kernel(v.program, _name(plan, v)) for v in plan.variants]
    entry = "\n".join(_entry(plan))
    parts.append("\n".join([*macro_definitions(entry), entry]))
    return "\n\n".join(parts) + "\n"


def _name(plan: KernelPlan, variant: CpuKernelVariant) -> str:
    return f"{plan.name}_{variant.suffix}"


def _entry(plan: KernelPlan) -> Iterator[str]:
    """Yield the lines of the function that callers call."""
    prototype = kernel_prototype(plan)
    yield f"{prototype};"
    yield prototype
    yield "{"
    for condition in plan.conditions:
        yield f"  if (!({print_index(condition)}))\n    return 1;"
    compared = {place for pair in (*plan.disjoint, *plan.watched_pairs) for place in pair[:1]}
    compared |= {second for _, second in plan.disjoint}
    for place in sorted(compared):
        name, size = plan.arrays[place].name, plan.array_bytes[place]
        yield f"  const char *polygym_begin_{name} = (const char *){name};"
        yield f"  const char *polygym_end_{name} = polygym_begin_{name} + ({print_index(size)});"
    names = [array.name for array in plan.arrays]
    for left, right in plan.disjoint:
        first, second = names[left], names[right]
        before, after = (
            f"polygym_end_{a} > polygym_begin_{b}" for a, b in ((first, second), (second, first))
        )
        yield f"  if ({before} && {after})\n    return 1;"
    for left, other in plan.watched_pairs:
        watched, length = watched_names(plan)[other], plan.watched[other][1]
        yield (
            f"  if (polygym_end_{names[left]} > (const char *){watched} && "
            f"(const char *){watched} + {length} > polygym_begin_{names[left]})\n    return 1;"
        )
    yield "  int polygym_code = 1;"
    for variant in plan.variants:
        call = f"polygym_code = {_name(plan, variant)}({_arguments(plan, variant)});"
        matches = " && ".join(f"{name} == {value}" for name, value in variant.sizes or ())
        last = variant.sizes is None
        prefix = "  else" if variant is not plan.variants[0] else " "
        question = "" if last else f" if ({matches})"
        yield f"{prefix}{question}\n    {call}"
    yield "  if (polygym_code < 0 || polygym_code > 1) {"
    message = f"stopped: {plan.name} leaves an array, in a computed subscript"
    yield f'    fprintf(stderr, "{message}\\n");'
    yield "    abort();"
    yield "  }"
    yield "  return polygym_code;"
    yield "}"


def _arguments(plan: KernelPlan, variant: CpuKernelVariant) -> str:
    """Return the arguments of the loops: arrays with the types of their own, and sizes."""
    values = []
    for array in plan.arrays:
        const = "" if array.name in plan.written else "const "
        same = element_type(array) == array.type.value
        values.append(array.name if same else f"({const}{array.type.value} *){array.name}")
    return ", ".join([*values, *(parameter.name for parameter in plan.parameters)])
