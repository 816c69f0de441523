"""A library's header and its C: contexts, weights, and the steps as a table.

::

    bases    arena, weights, x, y
    places   {0, 128}, {1, 0}, {2, 0}, …        a base, and bytes behind it
    steps    {code 0, places 0 to 2}, {code 1, places 3 and 4}, …
    run      for each step: fill a block with addresses, call the code; stop where it fails

The entry points of kernels are those of all machine code here
(:mod:`polygym.codegen.llvm.core.binary_interface`); copies have the same form.
"""

from __future__ import annotations

from collections.abc import Iterator
from string import Template

from polygym.errors import printable
from polygym.export.cpu_dispatch import level_text
from polygym.export.cpu_levels import CpuLevel
from polygym.export.header import comment_block, guarded_header
from polygym.graphs.execution.planning.arena import ALIGNMENT
from polygym.graphs.execution.planning.kernel_variants import KernelSource
from polygym.graphs.export.kernels import kernel_symbol
from polygym.graphs.export.plan import (
    FIRST_ARGUMENT,
    LibraryArgument,
    LibraryPlan,
    StridedCopy,
)
from polygym.graphs.export.weights_file import (
    header_start,
    header_sum,
    weights_header,
)
from polygym.graphs.operators.types import ELEMENT_BYTES
from polygym.version import __version__

CODES = {
    "OK": "it worked",
    "NO_MEMORY": "there is not enough memory",
    "NO_FILE": "the file of the weights cannot be opened",
    "DAMAGED": "the file of the weights is damaged, or another file",
    "OTHER_MODEL": "the file has the weights of another library",
    "NO_CPU": "the processor lacks instructions of the library",
    "INVALID": "an argument is NULL, not aligned, or overlaps a result",
    "BUSY": "the context runs already: give each thread a context",
    "OUT_OF_RANGE": "an index is outside of the tensor that it is for",
    "INTERNAL": "the library is defective",
}
"""The numbers that functions return, from 0 on."""

_HUGE_PAGE = 1 << 21


def header_text(plan: LibraryPlan, levels: tuple[CpuLevel, ...]) -> str:
    """Return the header of a library."""
    name, top = plan.name, plan.name.upper()
    threads = f"{plan.threads}, by OpenMP: link with -fopenmp" if plan.threads > 1 else "1"
    comment = [
        f"{name}: the model {printable(plan.title)} as a library, by polygym {__version__}.",
        *(
            f"{'result' if part.is_result else 'input'} {part.name}: {part.c_type}"
            f"{''.join(f'[{extent}]' for extent in part.tensor.shape)}{_of_title(part)}"
            for part in plan.arguments
        ),
        f"weights: {name}.safetensors, {sum(array.nbytes for _, array in plan.constants)} bytes; "
        f"memory of a context: {plan.arena_bytes} bytes",
        f"processor: {', '.join(f'{level.name} ({level.processor})' for level in levels)}; "
        f"threads: {threads}",
        "Functions return 0, or a code of the list; results mean nothing then.",
    ]
    last = len(CODES) - 1
    codes = "\n".join(
        f"  {top}_{code} = {number}{',' if number < last else ''} /* {text} */"
        for number, (code, text) in enumerate(CODES.items())
    )
    lines = Template(_DECLARATIONS).substitute(
        name=name, codes=codes, arguments=_parameters(plan), top=top
    )
    return guarded_header(f"{name}_h", comment, lines.splitlines(), includes=("stdint.h",))


def _of_title(part: LibraryArgument) -> str:
    return "" if part.title == part.name else f" ({printable(part.title)})"


def _parameters(plan: LibraryPlan) -> str:
    return ", ".join(
        f"{'' if part.is_result else 'const '}{part.c_type} *{part.name}" for part in plan.arguments
    )


_DECLARATIONS = """\
enum {
$codes
};
/* A context: memory of its own, and weights that contexts may share. */
typedef struct $name $name;
/* Make a context with the weights of a file; *model is NULL where that fails. */
int ${name}_create(const char *weights, $name **model);
/* Make another context with the same weights, for another thread. */
int ${name}_clone(const $name *other, $name **model);
/* Compute; no array may overlap a result. A context computes one call at a time. */
int ${name}_run($name *model, $arguments);
/* The same with arrays of addresses, in the order above. */
int ${name}_run_arrays($name *model, const void *const *inputs, void *const *results);
/* Give a context back; the last one gives the weights back. NULL is allowed. */
void ${name}_destroy($name *model);
/* What a code means, as a sentence. */
const char *${name}_message(int code);"""

API = ("create", "clone", "run", "run_arrays", "destroy", "message")
"""The functions that a library shows, behind its name."""


def c_text(
    plan: LibraryPlan, levels: tuple[CpuLevel, ...], identity: str, sums: tuple[int, int]
) -> str:
    """Return the C of a library without its kernels."""
    arrays = [array for _, array in plan.constants]
    inputs = [part for part in plan.arguments if not part.is_result]
    header = weights_header(identity, arrays)
    values = {
        "name": plan.name,
        "top": plan.name.upper(),
        "levels": len(levels),
        "huge": _HUGE_PAGE,
        "line": ALIGNMENT,
        "start": header_start(identity).replace('"', '\\"'),
        "before_identity": len(header_start("")) - 2,
        "header_bytes": len(header),
        "header_sum": f"UINT64_C({header_sum(header)})",
        "weights": max(plan.weight_bytes, ALIGNMENT),
        "arena": max(plan.arena_bytes, ALIGNMENT),
        "sum_a": f"UINT64_C({sums[0]})",
        "sum_b": f"UINT64_C({sums[1]})",
        "arrays": len(arrays),
        "inputs": len(inputs),
        "arguments": len(plan.arguments),
        "parameters": _parameters(plan),
        "first": FIRST_ARGUMENT,
        "most": max((len(step.places) for step in plan.steps), default=1),
        "steps": len(plan.steps),
    }
    parts = [
        comment_block([f"{plan.name}: the steps of a model, by polygym {__version__}"]),
        Template(_BEGINNING).substitute(values),
        *_tables(plan, levels),
        *level_text(levels),
        Template(_FUNCTIONS).substitute(values),
        *_named_run(plan, len(inputs)),
        Template(_MESSAGES).substitute(
            values, texts="\n".join(f'    "{text}",' for text in CODES.values()), count=len(CODES)
        ),
    ]
    return "\n".join([*parts, ""])


def _tables(plan: LibraryPlan, levels: tuple[CpuLevel, ...]) -> Iterator[str]:
    """Yield the arrays of the file, the arguments, the codes, the places and the steps."""
    yield "static const struct stored stored[] = {"
    yield from (f"  {{{start}u, {array.nbytes}u}}," for start, array in plan.constants)
    yield "  {0u, 0u}};"
    yield "static const struct argument arguments[] = {"
    for part in plan.arguments:
        size = ELEMENT_BYTES[part.tensor.dtype]
        yield f"  {{{part.tensor.elements * size}u, {size}u}},"
    yield "};"
    for number, code in enumerate(plan.codes):
        if isinstance(code, StridedCopy):
            yield from _copy_function(number, code)
        else:
            names = (kernel_symbol(plan, number, level) for level in levels)
            yield from (f"int32_t {name}(void **block, int64_t *time);" for name in names)
    yield f"static const step_code codes[{len(levels)}][{max(len(plan.codes), 1)}] = {{"
    for level in levels:
        names = (
            kernel_symbol(plan, number, level)
            if isinstance(code, KernelSource)
            else f"copy_{number}"
            for number, code in enumerate(plan.codes)
        )
        yield f"  {{{', '.join(names) or '0'}}},"
    yield "};"
    yield "static const struct place places[] = {"
    first, steps = 0, []
    for step in plan.steps:
        yield " " + "".join(f" {{{place.base}u, {place.offset}u}}," for place in step.places)
        steps.append(f"  {{{step.code}u, {first}u, {len(step.places)}u}},")
        first += len(step.places)
    yield "  {0u, 0u}};"
    yield "\n".join(["static const struct step steps[] = {", *steps, "  {0u, 0u, 0u}};"])


def _copy_function(number: int, copy: StridedCopy) -> Iterator[str]:
    """Yield a function that moves elements, rows at once where they lie together on both sides."""
    size = copy.item_bytes
    extents, (start, own), (to, others) = copy.extents, copy.source, copy.target
    row = size
    if extents and own[-1] == others[-1] == 1:
        row *= extents[-1]
        extents, own, others = extents[:-1], own[:-1], others[:-1]
    yield f"static int32_t copy_{number}(void **block, int64_t *time)\n{{"
    yield f"  const unsigned char *from = (const unsigned char *)block[0] + {start * size}u;"
    yield f"  unsigned char *to = (unsigned char *)block[1] + {to * size}u;"
    yield "  (void)time;"
    for axis, extent in enumerate(extents):
        yield f"  for (size_t i{axis} = 0; i{axis} < {extent}u; i{axis}++)"
    sides = (
        "".join(f" + i{axis} * {stride * size}u" for axis, stride in enumerate(strides))
        for strides in (others, own)
    )
    target, source = sides
    yield f"    memcpy(to{target}, from{source}, {row}u);"
    yield "  return 0;\n}"


def _named_run(plan: LibraryPlan, inputs: int) -> Iterator[str]:
    """Yield the function that takes arguments by name."""
    yield f"int {plan.name}_run({plan.name} *model, {_parameters(plan)})\n{{"
    names = [part.name for part in plan.arguments]
    given = ", ".join(names[:inputs]) or "0"
    yield f"  const void *inputs_of[] = {{{given}}};"
    yield f"  void *results_of[] = {{{', '.join(names[inputs:])}}};"
    yield f"  return {plan.name}_run_arrays(model, inputs_of, results_of);\n}}"


_BEGINNING = """\
#define _DEFAULT_SOURCE
#include "$name.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef __linux__
#include <sys/mman.h>
#endif

typedef int32_t (*step_code)(void **, int64_t *);
struct stored { size_t place, bytes; };
struct argument { size_t bytes; unsigned item; };
struct place { unsigned base; size_t offset; };
struct step { unsigned code, first, count; };
struct weights { long users; void *memory; unsigned char *bytes; };
struct $name { struct weights *weights; void *memory; unsigned char *arena; int level, busy; };
"""

_FUNCTIONS = """\
static unsigned char *allocate(size_t size, void **memory)
{
  size_t line = size >= 2u * ${huge}u ? ${huge}u : ${line}u;
  *memory = size > SIZE_MAX - line ? NULL : malloc(size + line);
  if (*memory == NULL)
    return NULL;
  unsigned char *bytes = (unsigned char *)*memory;
  bytes += (line - (uintptr_t)bytes % line) % line;
#ifdef MADV_HUGEPAGE
  if (line == ${huge}u)
    (void)madvise(bytes, size / line * line, MADV_HUGEPAGE);
#endif
  memset(bytes, 0, size);
  return bytes;
}

static int check_header(FILE *file)
{
  static const char start[] = "$start";
  int code = ${top}_OK;
  uint64_t sum = 0;
  for (size_t k = 0; k < ${header_bytes}u && code != ${top}_DAMAGED; k++) {
    int letter = fgetc(file);
    int is_own = k < 8u || k >= 7u + sizeof start || letter == (unsigned char)start[k - 8u];
    if (letter == EOF || (!is_own && k < 8u + ${before_identity}u))
      code = ${top}_DAMAGED;
    else if (!is_own)
      code = ${top}_OTHER_MODEL;
    sum = sum * 31u + (unsigned char)letter;
  }
  return code == ${top}_OK && sum != $header_sum ? ${top}_DAMAGED : code;
}

static int read_weights(const char *path, unsigned char *bytes)
{
  FILE *file = fopen(path, "rb");
  if (file == NULL)
    return ${top}_NO_FILE;
  int code = check_header(file);
  for (size_t k = 0; k < ${arrays}u && code == ${top}_OK; k++)
    if (fread(bytes + stored[k].place, 1, stored[k].bytes, file) != stored[k].bytes)
      code = ${top}_DAMAGED;
  if (code == ${top}_OK && fgetc(file) != EOF)
    code = ${top}_DAMAGED;
  fclose(file);
  uint64_t a = 0, b = 0;
  for (size_t k = 0; k < ${weights}u && code == ${top}_OK; k += 4) {
    uint32_t word;
    memcpy(&word, bytes + k, 4);
    a += word;
    b += a;
  }
  return code == ${top}_OK && (a != $sum_a || b != $sum_b) ? ${top}_DAMAGED : code;
}

static void release(struct weights *weights)
{
  if (__atomic_sub_fetch(&weights->users, 1, __ATOMIC_ACQ_REL) == 0) {
    free(weights->memory);
    free(weights);
  }
}

static int open_context(struct weights *weights, int level, $name **model)
{
  $name *made = ($name *)calloc(1, sizeof *made);
  if (made == NULL)
    return ${top}_NO_MEMORY;
  made->arena = allocate(${arena}u, &made->memory);
  if (made->arena == NULL) {
    free(made);
    return ${top}_NO_MEMORY;
  }
  made->weights = weights;
  made->level = level;
  *model = made;
  return ${top}_OK;
}

int ${name}_create(const char *path, $name **model)
{
  if (model == NULL)
    return ${top}_INVALID;
  *model = NULL;
  if (path == NULL)
    return ${top}_INVALID;
  int level = polygym_level();
  if (level == $levels)
    return ${top}_NO_CPU;
  struct weights *weights = (struct weights *)calloc(1, sizeof *weights);
  if (weights == NULL)
    return ${top}_NO_MEMORY;
  weights->users = 1;
  weights->bytes = allocate(${weights}u, &weights->memory);
  int code = weights->bytes == NULL ? ${top}_NO_MEMORY : read_weights(path, weights->bytes);
  if (code == ${top}_OK)
    code = open_context(weights, level, model);
  if (code != ${top}_OK)
    release(weights);
  return code;
}

int ${name}_clone(const $name *other, $name **model)
{
  if (model == NULL)
    return ${top}_INVALID;
  *model = NULL;
  if (other == NULL)
    return ${top}_INVALID;
  __atomic_add_fetch(&other->weights->users, 1, __ATOMIC_RELAXED);
  int code = open_context(other->weights, other->level, model);
  if (code != ${top}_OK)
    release(other->weights);
  return code;
}

void ${name}_destroy($name *model)
{
  if (model == NULL)
    return;
  release(model->weights);
  free(model->memory);
  free(model);
}

static int are_valid(unsigned char *const *bases)
{
  for (size_t k = 0; k < ${arguments}u; k++) {
    if (bases[k] == NULL || (uintptr_t)bases[k] % arguments[k].item != 0)
      return 0;
    for (size_t l = ${inputs}u; l < ${arguments}u; l++)
      if (l != k && (uintptr_t)bases[k] < (uintptr_t)bases[l] + arguments[l].bytes &&
          (uintptr_t)bases[l] < (uintptr_t)bases[k] + arguments[k].bytes)
        return 0;
  }
  return 1;
}

static int run_steps(const $name *model, unsigned char *const *bases)
{
  for (size_t k = 0; k < ${steps}u; k++) {
    void *block[$most];
    int64_t time;
    for (unsigned l = 0; l < steps[k].count; l++) {
      const struct place *place = &places[steps[k].first + l];
      block[l] = bases[place->base] + place->offset;
    }
    int32_t code = codes[model->level][steps[k].code](block, &time);
    if (code != 0)
      return code == 1 ? ${top}_NO_MEMORY : code > 1 ? ${top}_OUT_OF_RANGE : ${top}_INTERNAL;
  }
  return ${top}_OK;
}

int ${name}_run_arrays($name *model, const void *const *inputs, void *const *results)
{
  if (model == NULL || inputs == NULL || results == NULL)
    return ${top}_INVALID;
  unsigned char *bases[$first + $arguments];
  bases[0] = model->arena;
  bases[1] = model->weights->bytes;
  for (size_t k = 0; k < ${arguments}u; k++)
    bases[$first + k] = k < ${inputs}u ? (unsigned char *)(uintptr_t)inputs[k]
                                 : (unsigned char *)results[k - ${inputs}u];
  if (!are_valid(bases + $first))
    return ${top}_INVALID;
  if (__atomic_exchange_n(&model->busy, 1, __ATOMIC_ACQUIRE))
    return ${top}_BUSY;
  int code = run_steps(model, bases);
  __atomic_store_n(&model->busy, 0, __ATOMIC_RELEASE);
  return code;
}
"""

_MESSAGES = """\

const char *${name}_message(int code)
{
  static const char *const texts[] = {
$texts
  };
  return code >= 0 && code < $count ? texts[code] : "no code of this library";
}"""
