"""Loop nests as people write them: counters, guards, reductions, gathers, walking pointers.

A nest is a list of lines. Subscripts stay between 2 below and 3 above the counter, which runs
from 2 on.
"""

from __future__ import annotations

from collections.abc import Callable

from whole_program_study.draft import Draft, View
from whole_program_study.elements import INT, Element, Leaf, condition, stored, value
from whole_program_study.loop_forms import loop, loop_end
from whole_program_study.statement_habits import (
    index_arrays,
    reads,
    statements,
    store,
    target_view,
)

Nest = Callable[[Draft], list[str]]


def over_one(draft: Draft) -> list[str]:
    """One loop over elements."""
    made = loop(draft, "2", loop_end(draft))
    return made.around(statements(draft, made.index, target_view(draft)))


def over_two(draft: Draft) -> list[str]:
    """Two loops over rows and columns."""
    planes = draft.views_of(2, written=True)
    if not planes:
        return over_one(draft)
    outer = loop(draft, "2", loop_end(draft))
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
    leaves += reads(draft, draft.pick((i, j)), 1) if draft.chance(0.5) else []
    text = plane(target, spread=False)
    body = [store(draft, text, target.element, leaves)]
    if draft.chance(0.25):
        body = [f"if ({condition(draft, leaves[0])}) {{", *body, "}"]
    if draft.chance(0.3):  # a sum of each row
        total = draft.name("sum", "acc")
        kind = draft.pick(("double", "float", "int", "unsigned"))
        leaf = leaves[0][0] if kind in ("double", "float") else f"(int)({leaves[0][0]}) & 31"
        ends = store(
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
    made = loop(draft, "1", loop_end(draft))
    source = draft.pick(linear)
    read, element = source.at(made.index), source.element
    if not scalars:
        return made.around(statements(draft, made.index, target_view(draft)))
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
            return made.around([store(draft, text, out.element, [(read, element)])])


def scatter(draft: Draft) -> list[str]:
    """``hist[bin[i]] += …``."""
    gathers = index_arrays(draft)
    if not gathers:
        return over_one(draft)
    made, target = loop(draft, "0", loop_end(draft)), target_view(draft, 1)
    text = target.at(f"{draft.pick(gathers)}[{made.index}]")
    return made.around([store(draft, text, target.element, reads(draft, f"({made.index} + 2)"))])


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
    high = loop_end(draft)
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
    target, made = target_view(draft, 1), loop(draft, "2", loop_end(draft))
    element, text = target.element, target.at(made.index)
    if draft.chance(0.5):
        before = target.at(f"{made.index} - {draft.integer(1, 2)}")
        leaves = [(before, element), *reads(draft, made.index, 1)]
        return made.around([f"{text} = {value(draft, element, leaves)};"])
    state, kind = draft.name("state", "prev", "carry"), draft.pick((element, INT))
    leaves = [(state, kind), *reads(draft, made.index, 2)]
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
    target = target_view(draft, 1)
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
    first, second = target_view(draft, 1), target_view(draft, 1)
    step = draft.name("step", "tt")
    forward, backward = (loop(draft, "2", f"{draft.size} - 1") for _ in range(2))

    def near(view: View, i: str) -> list[Leaf]:
        return [(view.at(text), view.element) for text in (f"{i} - 1", i, f"{i} + 1")]

    there = value(draft, second.element, near(first, forward.index))
    back = value(draft, first.element, near(second, backward.index))
    body = [
        *forward.around([f"{second.at(forward.index)} = {there};"]),
        *backward.around([f"{first.at(backward.index)} = {back};"]),
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
    made, local = loop(draft, "2", loop_end(draft)), draft.name("p", "e", "b0")
    i = made.index
    x_view, y_view = (
        next(
            view
            for view in draft.views
            if view.rank == 1 and member in view.at("0").split(".")[-1].split("->")[-1]
        )
        for member in (x, y)
    )
    match draft.integer(0, 3):
        case 0:
            leaves = [(f"{local}.{y}", y_view.element), *reads(draft, i, 1)]
            change = f"{local}.{x} = {value(draft, x_view.element, leaves)};"
            body = [f"{tag} {local} = {base}[{i}];", change, f"{base}[{i}] = {local};"]
        case 1:
            leaves = [(f"{local}->{y}", y_view.element), *reads(draft, i, 1)]
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


def narrow_types(draft: Draft) -> list[str]:
    """``word t = i * 9 - 40; if (t - 3 > 50) …``; a block may name another type ``word``."""
    made, target = loop(draft, "2", loop_end(draft)), target_view(draft)
    kind, number = draft.name("word", "T", "level"), draft.name("t", "w", "code")
    outer, inner = draft.pick(NARROW_TYPES), draft.pick(NARROW_TYPES)
    draft.file_scope.append(f"typedef {outer.format(kind)} {kind};")
    comparison = f"{draft.pick('<>')} {draft.pick(('0', '5', '50', '-1'))}"
    body = [
        f"{kind} {number} = {made.index} * {draft.integer(1, 40)} - {draft.integer(0, 300)};",
        f"if ({number} - {draft.integer(0, 9)} {comparison}) {{",
        *statements(draft, made.index, target),
        "}",
    ]
    if draft.chance(0.5):
        body = [f"typedef {inner.format(f'{kind}_in')} {kind};", *body]
    return made.around(body)


NARROW_TYPES = (
    "enum {{ {0}_a, {0}_b = 7 }}",
    "enum {{ {0}_a = -1, {0}_b }}",
    *"char short unsigned uint8_t uint16_t uint_least32_t uintmax_t size_t _Bool".split(),
)
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
    (2, narrow_types),
)
