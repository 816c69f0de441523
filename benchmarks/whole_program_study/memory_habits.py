"""Memory as people have it: each habit adds views to a draft, and what ``main`` needs for them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from whole_program_study.draft import FIXED, SLACK, Draft, View
from whole_program_study.elements import DOUBLE, ELEMENTS, FLOAT, Element

_COUNT = f"n + {SLACK}"
Habit = Callable[[Draft], None]


def _element(draft: Draft, near: bool = True) -> Element:
    """Return a type, often one that the program has."""
    if near and draft.views and draft.chance(0.6):
        return draft.pick(draft.views).element
    return draft.pick(ELEMENTS)


def _subscript(base: str, index: str) -> str:
    return f"{base}[{index}]"


def _one(element: Element, pointer: str, *, is_written: bool = True) -> View:
    return View(element, partial(_subscript, pointer), 1, pointer, is_written)


def argument(draft: Draft) -> None:
    """``double *a``, ``double a[]``, ``double a[restrict]``, ``const double *a``."""
    element, name = _element(draft), draft.name()
    memory = draft.array(element)
    is_const = draft.chance(0.15)
    kind = element.name
    forms = [f"{kind} *{name}"] * 3 + [f"{kind} {name}[]", f"{kind} *restrict {name}"]
    if draft.size == "n":
        forms += [f"{kind} {name}[n + {SLACK}]"] * 5
    form = f"const {kind} *{name}" if is_const else draft.pick(forms)
    draft.arguments.append((form, memory))
    draft.views.append(_one(element, name, is_written=not is_const))


def overlapping_arguments(draft: Draft) -> None:
    """Two arguments that ``main`` lets point into one array."""
    element, first, second = _element(draft), draft.name(), draft.name()
    memory = draft.array(element, f"n + {SLACK + 4}")
    shift = draft.integer(0, 3)
    draft.arguments.append((f"{element.name} *{first}", memory))
    draft.arguments.append((f"{element.name} *{second}", f"{memory} + {shift}"))
    draft.views += [_one(element, first), _one(element, second)]


def structure(draft: Draft) -> None:
    """A structure with pointers, by pointer, by value, or at file scope; with local copies."""
    tag, own, first, second = (
        draft.name("grid", "state", "field"),
        draft.name("g", "st", "self"),
        "u",
        "v",
    )
    element = _element(draft)
    other = element if draft.chance(0.7) else _element(draft)
    memories = draft.array(element), draft.array(other)
    inner = draft.chance(0.2)
    members = f"{element.name} *{first}; {other.name} *{second};"
    members = f"struct {{ {members} }} in;" if inner else members
    draft.file_scope.append(f"struct {tag} {{ int n; {members} double c; }};")
    way = draft.pick(("->", "->", "->", ".", "global"))
    made = draft.name("box")
    prefix = "in." if inner else ""
    draft.begin += [f"struct {tag} {made};", f"memset(&{made}, 0, sizeof {made});"]
    draft.begin += [f"{made}.n = n; {made}.c = 0.5; {made}.{prefix}{first} = {memories[0]};"]
    draft.begin += [f"{made}.{prefix}{second} = {memories[1]};"]
    if way == "global":
        draft.file_scope.append(f"static struct {tag} {own};")
        draft.begin.append(f"{own} = {made};")
        base = f"{own}.{prefix}"
    else:
        star = "*" if way == "->" else ""
        draft.arguments.append((f"struct {tag} {star}{own}", f"{'&' if star else ''}{made}"))
        base = f"{own}{way}{prefix}"
    if draft.chance(0.5):
        draft.numbers.append(f"{base.removesuffix(prefix)}n - {FIXED // 12}")
    for member, type_ in ((first, element), (second, other)):
        pointer = f"{base}{member}"
        if draft.chance(0.5):
            local = draft.name(member)
            draft.setup.append(f"{type_.name} *{local} = {pointer};")
            if draft.chance(0.7):
                draft.views.append(_one(type_, local))
                if draft.chance(0.6):
                    continue
        draft.views.append(_one(type_, pointer))
    if element == other and draft.chance(0.15):  # exchanged behind the locals' backs
        draft.setup.append(f"{base}{first} = {base}{second};")


def array_of_structures(draft: Draft) -> None:
    """``pos[i].x``, ``pos[i].v[1]``, with an integer beside them."""
    tag, name = draft.name("body", "pixel", "cell"), draft.name("pos", "cells", "list")
    element, other = _element(draft), draft.pick(ELEMENTS)
    made = draft.name("things")
    draft.file_scope.append(
        f"typedef struct {{ {element.name} x, y; {other.name} id; {element.name} w[3]; }} {tag};"
    )
    draft.begin.append(f"{tag} *{made} = calloc({_COUNT}, sizeof *{made});")
    for member, type_ in ((".x", element), (".y", element), (".id", other), (".w[1]", element)):
        draft.fill(type_, partial("{0}[{2}]{1}".format, made, member), _COUNT)
    base = name
    if draft.chance(0.2):
        draft.file_scope.append(f"static {tag} *{name};")
        draft.begin.append(f"{name} = {made};")
    else:
        draft.arguments.append((f"{tag} *{name}", made))
        if draft.chance(0.3):
            base = draft.name("p", "q")
            draft.setup.append(f"{tag} *{base} = {name} + 1;")
    form = draft.pick(("{0}[{2}]{1}", "{0}[{2}]{1}", "({0} + ({2}))->{1}"))
    for member, type_ in (("x", element), ("y", element), ("id", other), ("w[1]", element)):
        shown = member if "->" in form else f".{member}"
        draft.views.append(View(type_, partial(form.format, base, shown)))
    draft.habits.append(f"structure {tag} {base} x y")


def fixed_array(draft: Draft) -> None:
    """``static double table[48]``, or in a structure, used up to n."""
    element, name = _element(draft), draft.name()
    place = draft.pick(("file", "file", "member"))
    if place == "member":
        tag, own = draft.name("pool"), draft.name("pl")
        draft.file_scope.append(
            f"struct {tag} {{ int used; {element.name} {name}[{FIXED}]; }} {own};"
        )
        text = f"{own}.{name}"
        if draft.chance(0.5):
            pointer = draft.name("pool", "pp")
            draft.arguments.append((f"struct {tag} *{pointer}", f"&{own}"))
            draft.fill(element, partial(_subscript, text), str(FIXED))
            draft.views.append(_one(element, f"{pointer}->{name}"))
            return
    else:
        draft.file_scope.append(f"{draft.pick(('static ', ''))}{element.name} {name}[{FIXED}];")
        text = name
    draft.fill(element, partial(_subscript, text), str(FIXED))
    draft.views.append(_one(element, text))


def file_scope_pointer(draft: Draft) -> None:
    """``static double *heap;`` that ``main`` sets, at times into an argument's array."""
    element, name = _element(draft), draft.name("heap", "pool", "base")
    draft.file_scope.append(f"static {element.name} *{name};")
    shared = [
        entry
        for entry in draft.arguments
        if entry[0] == f"{element.name} *{entry[0].split('*')[-1]}"
    ]
    if shared and draft.chance(0.3):
        draft.begin.append(f"{name} = {draft.pick(shared)[1]};")
    else:
        draft.begin.append(f"{name} = {draft.array(element)};")
    draft.views.append(_one(element, name))


def local_memory(draft: Draft) -> None:
    """``malloc``, a local array, or one of a variable length; its sum goes to an argument."""
    element, name = _element(draft), draft.name("tmp", "work", "line")
    kind, count = element.name, f"{draft.size} + {SLACK}"
    match draft.integer(0, 3):
        case 0:
            draft.setup.append(f"{kind} *{name} = malloc(({count}) * sizeof *{name});")
            draft.setup.append(f"memset({name}, 1, ({count}) * sizeof({kind}));")
        case 1:
            draft.setup.append(f"{kind} *{name} = calloc({count}, sizeof({kind}));")
        case 2:
            draft.setup.append(f"{kind} {name}[{FIXED}] = {{3, 1}};")
            count = str(FIXED)
        case _:
            draft.setup.append(f"{kind} {name}[{count}];")
            draft.setup.append(f"for (int q = 0; q < {count}; q++) {name}[q] = q % 5;")
    total, memory = draft.name("total"), draft.name("sum")
    draft.begin.append(f"double {memory} = 0;")
    draft.report.append(f"feed_real({memory});")
    draft.arguments.append((f"double *{total}", f"&{memory}"))
    draft.teardown.append(f"for (int q = 0; q < {count}; q++) *{total} += {name}[q] * (q % 7 + 1);")
    draft.views.append(_one(element, name))


def flat_rows(draft: Draft) -> None:
    """``a[i * m + j]``, with a macro or without."""
    element, name = _element(draft), draft.name()
    memory = draft.array(element, f"(n + {SLACK}) * (m + {SLACK})")
    draft.arguments.append((f"{element.name} *{name}", memory))
    _with_columns(draft)
    if draft.chance(0.4):
        macro = draft.name("AT", "IDX", "PIX")
        draft.file_scope.append(f"#define {macro}(p, i, j) (p)[(i) * (m + {SLACK}) + (j)]")
        draft.views.append(View(element, partial(f"{macro}({{}}, {{}}, {{}})".format, name), 2))
    else:
        text = f"{{}}[({{}}) * (m + {SLACK}) + {{}}]"
        draft.views.append(View(element, partial(text.format, name), 2))
    draft.views.append(_one(element, name))


def _with_columns(draft: Draft) -> None:
    if not any(declaration == "int m" for declaration, _ in draft.arguments):
        draft.arguments.insert(min(1, len(draft.arguments)), ("int m", "m"))
        draft.numbers.append("m")


def true_rows(draft: Draft) -> None:
    """``double (*a)[40]`` of a fixed width, or with variable length."""
    element, name = _element(draft), draft.name("A", "B", "mat", "img")
    if draft.chance(0.5):
        _with_columns(draft)
        memory = draft.array(element, f"(n + {SLACK}) * (m + {SLACK})")
        position = next(k for k, entry in enumerate(draft.arguments) if entry[0] == "int m")
        form = draft.pick((f"{name}[][m + {SLACK}]", f"(*{name})[m + {SLACK}]"))
        draft.arguments.insert(position + 1, (f"{element.name} {form}", f"(void *){memory}"))
    else:
        _with_columns(draft)
        draft.file_scope.append(f"static {element.name} {name}[{FIXED}][{FIXED}];")
        at = partial("{}[{} / 48][{} % 48]".format, name)
        draft.fill(element, lambda index: at(index, index), str(FIXED * FIXED))
    draft.views.append(View(element, partial("{}[{}][{}]".format, name), 2))


def rows_of_pointers(draft: Draft) -> None:
    """``double **a``: rows behind each other, apart, upside down, or one row twice."""
    element, name = _element(draft), draft.name("rows", "T", "image")
    memory = draft.array(element, f"(n + {SLACK}) * (m + {SLACK})")
    table = draft.name("table")
    order = draft.pick(("q", "q", "q", f"n + {SLACK - 1} - q", "q / 2"))
    draft.begin.append(f"{element.name} **{table} = malloc(({_COUNT}) * sizeof *{table});")
    draft.begin.append(
        f"for (int q = 0; q < {_COUNT}; q++) {table}[q] = {memory} + ({order}) * (m + {SLACK});"
    )
    _with_columns(draft)
    draft.arguments.append((f"{element.name} **{name}", table))
    draft.views.append(View(element, partial("{}[{}][{}]".format, name), 2))
    if draft.chance(0.3):
        row = draft.name("row")
        draft.setup.append(f"{element.name} *{row} = {name}[{draft.integer(0, 2)}];")
        draft.views.append(_one(element, row))


def scalar_result(draft: Draft) -> None:
    """``*out``: a scalar behind a pointer, or at file scope."""
    element = _element(draft)
    if draft.chance(0.5):
        memory, name = draft.name("cell"), draft.name("out", "result", "best")
        draft.begin.append(f"{element.name} {memory} = 1;")
        draft.arguments.append((f"{element.name} *{name}", f"&{memory}"))
        text = draft.pick((f"*{name}", f"{name}[0]"))
    else:
        memory = text = draft.name("total", "counter", "best")
        draft.file_scope.append(f"static {element.name} {memory} = 2;")
    draft.report.append(f"{'feed_real' if element.is_float else 'feed_integer'}({memory});")
    draft.views.append(View(element, lambda _: text, rank=0))


def index_array(draft: Draft) -> None:
    """``int idx[n]`` with values in range, for gathers and scatters."""
    name, memory = draft.name("idx", "map", "col", "bin"), draft.name("index")
    kind = draft.pick(("int", "int", "int", "unsigned char", "short", "size_t"))
    factor = draft.integer(1, 9)
    draft.begin.append(f"{kind} *{memory} = malloc(({_COUNT}) * sizeof *{memory});")
    draft.begin.append(f"for (int q = 0; q < {_COUNT}; q++) {memory}[q] = (q * {factor} + 3) % n;")
    draft.arguments.append((f"{draft.pick(('const ', ''))}{kind} *{name}", memory))
    draft.habits.append(f"index {name}")


def table_of_constants(draft: Draft) -> None:
    """``static const double w[8]``: weights."""
    element, name = (
        draft.pick((DOUBLE, FLOAT, Element("int"), Element("short", is_narrow=True))),
        draft.name("w", "coef", "kern"),
    )
    numbers = ", ".join(str(draft.integer(1, 9)) for _ in range(8))
    draft.file_scope.append(f"static const {element.name} {name}[8] = {{{numbers}}};")
    draft.habits.append(f"weights {name} {'float' if element.is_float else 'int'}")


MEMORY_HABITS: tuple[tuple[int, Habit], ...] = (
    (6, argument),
    (2, overlapping_arguments),
    (4, structure),
    (3, array_of_structures),
    (3, fixed_array),
    (2, file_scope_pointer),
    (2, local_memory),
    (3, flat_rows),
    (2, true_rows),
    (2, rows_of_pointers),
    (3, scalar_result),
    (2, index_array),
    (1, table_of_constants),
)
