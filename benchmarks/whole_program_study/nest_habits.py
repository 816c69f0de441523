"""Loop nests as people write them: counters, guards, reductions, gathers, walking pointers.

A nest is a list of lines. Subscripts stay between 2 below and 3 above the counter, which runs
from 2 on.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from whole_program_study.draft import Draft, View
from whole_program_study.elements import DOUBLE, INT, Element, Leaf, condition, stored, value

Nest = Callable[[Draft], list[str]]


@dataclass(frozen=True, slots=True)
class Loop:
    """A loop: lines before it, its head, its last lines, and the text of its counter."""

    before: tuple[str, ...]
    head: str
    tail: tuple[str, ...]
    index: str

    def around(self, body: list[str]) -> list[str]:
        """Return the loop with a body."""
        last = " ".join(self.tail[:-1])
        body = [line.replace("continue;", f"{{ {last} continue; }}") for line in body]
        return [*self.before, self.head, *body, *self.tail]


def loop(draft: Draft, low: str, high: str) -> Loop:
    """Return a loop whose counter takes all values from low on below high, or every second."""
    i = draft.name("i", "j", "k", "idx", "row", "x0")
    kind = draft.pick(("int", "int", "int", "int", "long", "unsigned", "size_t", "short"))
    up = draft.pick(("i++", "++i", "i += 1")).replace("i", i)
    match draft.pick((*range(16), *range(10), *range(10), *range(10), 11, 11, 12, 9)):
        case 0 | 1 | 2 | 3:
            return Loop((), f"for ({kind} {i} = {low}; {i} < {high}; {up}) {{", ("}",), i)
        case 4:
            draft.setup.append(f"int {i};")
            return Loop((), f"for ({i} = {low}; {i} < {high}; {up}) {{", ("}",), i)
        case 5:
            return Loop((), f"for (int {i} = {low}; {i} <= {high} - 1; {up}) {{", ("}",), i)
        case 6:
            return Loop((), f"for (int {i} = {high} - 1; {i} >= {low}; {i}--) {{", ("}",), i)
        case 7:
            return Loop((), f"for (size_t {i} = {high}; {i}-- > {low};) {{", ("}",), i)
        case 8:
            head = f"for (unsigned {i} = {high}; {i} > {low}; {i}--) {{"
            return Loop((), head, ("}",), f"({i} - 1)")
        case 9:
            return Loop((f"{kind} {i} = {low};",), f"while ({i} < {high}) {{", (f"{up};", "}"), i)
        case 10:
            return Loop((f"int {i} = {low};",), "do {", (f"}} while (++{i} < {high});",), i)
        case 11:
            step = draft.integer(2, 3)
            return Loop((), f"for (int {i} = {low}; {i} < {high}; {i} += {step}) {{", ("}",), i)
        case 12:
            end = draft.name("e", "stop")
            head = f"for (int {i} = {low}, {end} = {high} - 1; {i} <= {end}; {up}) {{"
            return Loop((), head, ("}",), i)
        case 13:
            left = draft.name("left", "count")
            before = f"int {left} = {high} > {low} ? {high} - {low} : 0;"
            return Loop((before,), f"while ({left}--) {{", ("}",), f"({left} + {low})")
        case 14:
            return Loop((), f"for (int {i} = {low}; {i} != {high}; {up}) {{", ("}",), i)
        case _:
            head = f"for (int {i} = {low}; ; {i}++) {{\nif ({i} >= {high}) break;"
            return Loop((), head, ("}",), i)


def _high(draft: Draft) -> str:
    """Return the end of a loop, at times by a small number of the kernel."""
    if draft.numbers and draft.chance(0.25):
        return f"{draft.size} - {draft.pick(draft.numbers)} % 2"
    return draft.pick((draft.size, draft.size, f"{draft.size} - 1", f"{draft.size} - 2"))


def _at(draft: Draft, view: View, index: str, *, spread: bool = True) -> str:
    """Return an element near an index; views of two dimensions near their diagonal."""
    shift = draft.pick((0, 0, 0, -2, -1, 1, 2)) if spread else 0
    text = f"{index} {'+' if shift > 0 else '-'} {abs(shift)}" if shift else index
    if view.rank == 0:
        return view.at(text)
    if view.rank == 1:
        return view.at(text)
    return view.at(draft.pick((index, "1", "2")), f"({text}) / 2")


def _reads(draft: Draft, index: str, most: int = 3) -> list[Leaf]:
    """Return elements to read, and at times the counter or a number."""
    result: list[Leaf] = []
    for _ in range(draft.integer(1, most)):
        choice = draft.integer(0, 9)
        if choice == 0:
            result.append((f"(int){index}" if draft.chance(0.5) else index, INT))
        elif choice == 1 and draft.numbers:
            result.append((draft.pick(draft.numbers), INT))
        else:
            view = draft.pick(draft.views)
            result.append((_at(draft, view, index), view.element))
    gathers = [habit.split()[1] for habit in draft.habits if habit.startswith("index")]
    linear = draft.views_of(1)
    if gathers and linear and draft.chance(0.3):
        view = draft.pick(linear)
        result.append((view.at(f"{draft.pick(gathers)}[{index}]"), view.element))
    weights = [habit.split()[1:] for habit in draft.habits if habit.startswith("weights")]
    if weights and draft.chance(0.3):
        name, kind = draft.pick(weights)
        result.append((f"{name}[{index} & 7]", DOUBLE if kind == "float" else INT))
    return result


def _target(draft: Draft, rank: int | None = None) -> View:
    ranks = (1, 1, 1, 2) if rank is None else (rank,)
    return draft.pick(
        draft.views_of(draft.pick(ranks), written=True) or draft.views_of(1, written=True)
    )


def _store(draft: Draft, text: str, element: Element, leaves: list[Leaf]) -> str:
    """Return a statement that changes an element."""
    if element.is_float:
        operator = draft.pick(("=", "=", "=", "+=", "-=", "*="))
        if operator == "*=":
            return f"{text} *= 0.5;"
        return f"{text} {operator} {value(draft, element, leaves)};"
    if element.is_signed_word:
        return f"{text} = {value(draft, element, leaves)};"
    operator = draft.pick(("=", "=", "=", "+=", "^=", "-=", "|=", "&=", "++"))
    if operator == "++":
        return f"{text}++;"
    return f"{text} {operator} {value(draft, element, leaves)};"


def statements(draft: Draft, index: str, target: View) -> list[str]:
    """Return the body of a loop over one index."""
    text = _at(draft, target, index, spread=draft.chance(0.3))
    element, leaves = target.element, _reads(draft, index)
    plain = _store(draft, text, element, leaves)
    match draft.integer(0, 11):
        case 0 | 1 | 2 | 3:
            return [plain]
        case 4:
            local, kind = draft.name("t", "val", "d"), draft.pick((element, leaves[0][1]))
            made = f"{kind.name} {local} = {value(draft, kind, leaves)};"
            return [made, _store(draft, text, element, [(local, kind), *_reads(draft, index, 1)])]
        case 5:
            other = _store(draft, text, element, _reads(draft, index))
            return [f"if ({condition(draft, leaves[0])}) {{", plain, "} else {", other, "}"]
        case 6:
            return [f"if ({condition(draft, leaves[0])}) continue;", plain]
        case 7:
            return [f"if ({index} % {draft.integer(2, 4)} == 0) {plain}"]
        case 8:
            cases = [_store(draft, text, element, _reads(draft, index, 2)) for _ in range(3)]
            return _switch(draft, f"{index} & 3", cases)
        case 9:
            return _with_helper(draft, text, element, leaves)
        case 10:
            second = _target(draft)
            more = _store(draft, _at(draft, second, index), second.element, _reads(draft, index, 2))
            return [plain, more]
        case _:
            return _small_array(draft, index, text, element, leaves)


def _switch(draft: Draft, selector: str, cases: list[str]) -> list[str]:
    ends = [draft.pick(("break;", "break;", "/* falls through */")) for _ in cases]
    lines = [f"switch ({selector}) {{"]
    for number, (text, end) in enumerate(zip(cases, ends, strict=True)):
        label = "default:" if number == len(cases) - 1 else f"case {number}:"
        lines += [label, text, "break;" if label == "default:" else end]
    return [*lines, "}"]


def _with_helper(draft: Draft, text: str, element: Element, leaves: list[Leaf]) -> list[str]:
    """Return a call of a function with several returns, a switch, or a side effect."""
    helper, kind = draft.name("clip", "shape", "blend"), element.name
    low, high = ("0", "99") if element.is_unsigned else ("-20", "99")
    match draft.integer(0, 3):
        case 0:
            body = f"if (v < {low}) return {low}; if (v > {high}) return {high}; return v;"
        case 1 if not element.is_float:
            body = (
                "switch (v & 3) { case 0: return v; case 1: return 7; "
                "case 2: v = v / 2; break; default: return 3; } return v;"
            )
        case 2:
            counter = draft.name("hits", "used")
            draft.file_scope.append(f"static int {counter};")
            draft.report.append(f"feed_integer({counter});")
            body = f"{counter}++; return v > {high} ? {high} : v;"
        case _:
            body = f"{kind} r = v; if (r > {high}) r = {high}; return r;"
    qualifier = draft.pick(("static ", "static inline "))
    draft.file_scope.append(f"{qualifier}{kind} {helper}({kind} v) {{ {body} }}")
    return [f"{text} = {helper}({value(draft, element, leaves)});"]


def _small_array(
    draft: Draft, index: str, text: str, element: Element, leaves: list[Leaf]
) -> list[str]:
    """Return statements with an array of a body, or a compound literal."""
    if draft.chance(0.1):
        literal = "(const int[]){1, 4, 6, 4}"
        return [_store(draft, text, element, [*leaves, (f"{literal}[{index} & 3]", INT)])]
    name, counter = draft.name("win", "tap"), draft.name("c", "z0")
    first, start = value(draft, element, leaves), stored(draft, element, counter)
    entry = f"{name}[{draft.integer(0, 2)}]"
    return [
        f"{element.name} {name}[3];",
        f"for (int {counter} = 0; {counter} < 3; {counter}++) {name}[{counter}] = {start};",
        f"{name}[1] = {first};",
        _store(draft, text, element, [(entry, element), (f"{name}[1]", element)]),
    ]  # fmt: skip


def over_one(draft: Draft) -> list[str]:
    """One loop over elements."""
    made = loop(draft, "2", _high(draft))
    return made.around(statements(draft, made.index, _target(draft)))


def over_two(draft: Draft) -> list[str]:
    """Two loops over rows and columns."""
    planes = draft.views_of(2, written=True)
    if not planes:
        return over_one(draft)
    outer = loop(draft, "2", _high(draft))
    columns = "m" if any(entry[0] == "int m" for entry in draft.arguments) else draft.size
    bound = draft.pick((columns, columns, f"{columns} - 1", "m / 2 + 2"))
    if draft.chance(0.2):
        bound = f"({outer.index} < {columns} ? {outer.index} + 1 : {columns})"
    inner = loop(draft, draft.pick(("2", "2", "1")), bound)
    target, i, j = draft.pick(planes), outer.index, inner.index

    def plane(view: View, *, spread: bool) -> str:
        shifts = [draft.pick((0, 0, 0, -1, 1)) if spread else 0 for _ in range(2)]
        rows, cols = (
            f"{c} + {s}" if s > 0 else f"{c} - {-s}" if s else c
            for c, s in zip((i, j), shifts, strict=True)
        )
        return view.at(rows, cols)

    leaves = [
        (plane(view, spread=True), view.element)
        for view in (draft.pick(draft.views_of(2)) for _ in range(draft.integer(1, 4)))
    ]
    leaves += _reads(draft, draft.pick((i, j)), 1) if draft.chance(0.5) else []
    text = plane(target, spread=False)
    body = [_store(draft, text, target.element, leaves)]
    if draft.chance(0.25):
        body = [f"if ({condition(draft, leaves[0])}) {{", *body, "}"]
    if draft.chance(0.3):  # a sum of each row
        total = draft.name("sum", "acc")
        kind = draft.pick(("double", "float", "int", "unsigned"))
        leaf = leaves[0][0] if kind in ("double", "float") else f"(int)({leaves[0][0]}) & 31"
        ends = _store(
            draft,
            target.at(i, "1"),
            target.element,
            [(total, Element(kind, is_float=kind in ("double", "float")))],
        )
        return outer.around([f"{kind} {total} = 0;", *inner.around([f"{total} += {leaf};"]), ends])
    return outer.around(inner.around(body))


def reduction(draft: Draft) -> list[str]:
    """A sum, a largest element or its place, into a scalar behind a pointer or a member."""
    scalars, linear = draft.views_of(0), draft.views_of(1)
    made = loop(draft, "1", _high(draft))
    source = draft.pick(linear)
    read, element = source.at(made.index), source.element
    if not scalars:
        return made.around(statements(draft, made.index, _target(draft)))
    out = draft.pick(scalars)
    text = out.at("0")
    match draft.integer(0, 3):
        case 0:
            return made.around([f"if ({read} > {text}) {text} = {read};"])
        case 1:
            total, kind = draft.name("s", "sum"), draft.pick(("double", "long", "unsigned", "int"))
            leaf = f"(int)({read}) & 15" if kind != "double" else read
            last = total if out.element.is_float else stored(draft, out.element, total)
            end = f"{text} = {last};"
            if kind == "double" and not out.element.is_float:
                end = f"{text} = (int)({total} * 0.001) & 63;"
            return [f"{kind} {total} = 0;", *made.around([f"{total} += {leaf};"]), end]
        case 2:
            best, where = draft.name("best", "top"), draft.name("at", "pos")
            return [
                f"{element.name} {best} = {source.at('0')}; int {where} = 0;",
                *made.around(
                    [f"if ({read} > {best}) {{ {best} = {read}; {where} = {made.index}; }}"]
                ),
                f"{text} = {where};",
            ]  # fmt: skip
        case _:
            return made.around([_store(draft, text, out.element, [(read, element)])])


def scatter(draft: Draft) -> list[str]:
    """``hist[bin[i]] += …``."""
    gathers = [habit.split()[1] for habit in draft.habits if habit.startswith("index")]
    if not gathers:
        return over_one(draft)
    made, target = loop(draft, "0", _high(draft)), _target(draft, 1)
    text = target.at(f"{draft.pick(gathers)}[{made.index}]")
    return made.around([_store(draft, text, target.element, _reads(draft, f"({made.index} + 2)"))])


def walking_pointer(draft: Draft) -> list[str]:
    """``while (count--) *p++ = *q++``, ``for (; p < end; p++)``."""
    writable = draft.views_of(1, written=True, wanted=lambda view: bool(view.pointer))
    readable = draft.views_of(1, wanted=lambda view: bool(view.pointer))
    if not writable:
        return over_one(draft)
    target, source = draft.pick(writable), draft.pick(readable)
    to, frm = draft.name("d", "w", "wr"), draft.name("s", "r0", "rd")
    const = "" if source.is_written else "const "
    first = f"{target.element.name} *{to} = {target.pointer};"
    second = f"{const}{source.element.name} *{frm} = {source.pointer} + 1;"
    read = value(draft, target.element, [(f"*{frm}", source.element)])
    high = _high(draft)
    match draft.integer(0, 4):
        case 0:
            left = draft.name("left", "len")
            lines = [
                f"int {left} = {high};",
                f"while ({left}--) {{",
                f"*{to}++ = {read}; {frm}++;",
                "}",
            ]
        case 1:
            end = draft.name("end", "stop")
            lines = [
                f"{target.element.name} *{end} = {to} + {high};",
                f"for (; {to} {draft.pick(('<', '!='))} {end}; {to}++, {frm}++)",
                f"*{to} = {read};",
            ]  # fmt: skip
        case 2:
            left = draft.name("len", "rest")
            draft.setup.append(f"int {left} = {high};")
            lines = [
                f"for (; {left} > 0; --{left}, ++{to}) {{",
                f"*{to} = {read};",
                f"{frm} += 1;",
                "}",
            ]
        case 3:
            made = loop(draft, "0", high)
            lines = made.around([f"*{to} = {read};", f"{to}++;", f"{frm}++;"])
        case _:
            counter, by = draft.name("i", "k"), draft.integer(1, 2)
            lines = [
                f"for (int {counter} = 0; {counter} < ({high}) / {by}; {counter}++, {to} += {by})",
                "{",
                f"{to}[0] = {read};", f"{frm}++;", "}",
            ]  # fmt: skip
    if draft.chance(0.5):
        draft.setup += [first, second]
        return lines
    return [first, second, *lines]


def recurrence(draft: Draft) -> list[str]:
    """``a[i] = a[i - 1] …``, or with a state from iteration to iteration."""
    target, made = _target(draft, 1), loop(draft, "2", _high(draft))
    element, text = target.element, target.at(made.index)
    if draft.chance(0.5):
        before = target.at(f"{made.index} - {draft.integer(1, 2)}")
        leaves = [(before, element), *_reads(draft, made.index, 1)]
        return made.around([f"{text} = {value(draft, element, leaves)};"])
    state, kind = draft.name("state", "prev", "carry"), draft.pick((element, INT))
    leaves = [(state, kind), *_reads(draft, made.index, 2)]
    body = [
        f"{state} = {value(draft, kind, leaves)};",
        f"{text} = {value(draft, element, [(state, kind)])};",
    ]
    start = f"{kind.name} {state} = 1;"
    if draft.chance(0.5):
        draft.setup.append(start)
        return made.around(body)
    return [start, *made.around(body)]


def exchange(draft: Draft) -> list[str]:
    """Two counters that meet: a reversal in place."""
    target = _target(draft, 1)
    i, j, spare = draft.name("lo", "i"), draft.name("hi", "j"), draft.name("tmp")
    body = (
        f"{target.element.name} {spare} = {target.at(i)}; {target.at(i)} = {target.at(j)}; "
        f"{target.at(j)} = {spare};"
    )
    if draft.chance(0.5):
        return [f"for (int {i} = 0, {j} = {draft.size} - 1; {i} < {j}; {i}++, {j}--) {{", body, "}"]
    body = body.replace(target.at(j), target.at(f"{draft.size} - 1 - {i}"))
    return [f"for (int {i} = 0; {i} < {draft.size} / 2; {i}++) {{", body, "}"]


def time_loop(draft: Draft) -> list[str]:
    """Steps in the region: one array from another, and back."""
    first, second = _target(draft, 1), _target(draft, 1)
    step = draft.name("step", "tt")
    one, two = (loop(draft, "2", f"{draft.size} - 1") for _ in range(2))

    def near(view: View, i: str) -> list[Leaf]:
        return [(view.at(text), view.element) for text in (f"{i} - 1", i, f"{i} + 1")]

    there = value(draft, second.element, near(first, one.index))
    back = value(draft, first.element, near(second, two.index))
    body = [
        *one.around([f"{second.at(one.index)} = {there};"]),
        *two.around([f"{first.at(two.index)} = {back};"]),
    ]
    return [f"for (int {step} = 0; {step} < {draft.integer(2, 4)}; {step}++) {{", *body, "}"]


def memory_functions(draft: Draft) -> list[str]:
    """``memset``, ``memcpy``, ``memmove`` beside loops."""
    writable = draft.views_of(1, written=True, wanted=lambda view: bool(view.pointer))
    if not writable:
        return over_one(draft)
    target = draft.pick(writable)
    same = [view for view in draft.views_of(1) if view.pointer and view.element == target.element]
    source = draft.pick(same)
    size = draft.pick((f"sizeof({target.element.name})", f"sizeof *{target.pointer}"))
    count = draft.pick((draft.size, f"({draft.size} - 1)", "4"))
    function = (
        "memset"
        if source.pointer == target.pointer
        else draft.pick(("memset", "memcpy", "memmove"))
    )
    if function == "memset":
        text = f"memset({target.pointer}, {draft.pick(('0', '0', '1', '255'))}, {count} * {size});"
    else:
        to = f"{target.pointer} + {draft.integer(0, 1)}"
        text = f"{function}({to}, {source.pointer}, {size} * {count});"
    more = over_one(draft)
    return [text, *more] if draft.chance(0.7) else [*more, text]


def whole_structures(draft: Draft) -> list[str]:
    """``body p = pos[i]; p.x += …; pos[i] = p;``, ``body *e = &pos[i];``."""
    known = [habit.split() for habit in draft.habits if habit.startswith("structure")]
    if not known:
        return over_one(draft)
    _, tag, base, x, y = draft.pick(known)
    made, local = loop(draft, "2", _high(draft)), draft.name("p", "e", "b0")
    i = made.index
    x_view, y_view = (
        next(
            view
            for view in draft.views
            if view.rank == 1 and f"{member}" in view.at("0").split(".")[-1].split("->")[-1]
        )
        for member in (x, y)
    )
    match draft.integer(0, 3):
        case 0:
            leaves = [(f"{local}.{y}", y_view.element), *_reads(draft, i, 1)]
            change = f"{local}.{x} = {value(draft, x_view.element, leaves)};"
            body = [f"{tag} {local} = {base}[{i}];", change, f"{base}[{i}] = {local};"]
        case 1:
            leaves = [(f"{local}->{y}", y_view.element), *_reads(draft, i, 1)]
            change = f"{local}->{x} = {value(draft, x_view.element, leaves)};"
            body = [f"{tag} *{local} = &{base}[{i}];", change]
        case 2:
            body = [f"{base}[{i}] = {base}[{i} - {draft.integer(1, 2)}];"]
        case _:
            body = [
                f"{tag} {local} = {{0}};",
                f"{local}.{x} = {stored(draft, x_view.element, '3')};",
                f"{base}[{i}] = {local};",
            ]
    return made.around(body)


NESTS: tuple[tuple[int, Nest], ...] = (
    (7, over_one),
    (4, over_two),
    (3, reduction),
    (2, scatter),
    (3, walking_pointer),
    (2, recurrence),
    (1, exchange),
    (2, time_loop),
    (2, memory_functions),
    (2, whole_structures),
)
