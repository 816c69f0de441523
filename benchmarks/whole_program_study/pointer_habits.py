"""Pointers and sizes that the code before the region sets, in the ways that are easy to misread.

Each habit takes a view with a pointer, and gives another view of its memory, or of two.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from whole_program_study.draft import Draft, View
from whole_program_study.elements import BYTE

Habit = Callable[[Draft, View], None]


def _add(draft: Draft, view: View, name: str, lowest: int = 0) -> None:
    element = view.element
    text = draft.pick(("{}[{}]", "{}[{}]", "{}[{}]", "*({} + ({}))"))
    at = partial(text.format, name)
    draft.views.append(View(element, at, 1, name, view.is_written, lowest))
    if draft.chance(0.5) and view in draft.views:
        draft.views.remove(view)


def _declared(view: View) -> str:
    return f"{'' if view.is_written else 'const '}{view.element.name} *"


def _other(draft: Draft, view: View) -> View:
    """Return a view of the same type, at times the same."""
    same = draft.views_of(
        wanted=lambda each: (
            bool(each.pointer)
            and each.element == view.element
            and each.is_written == view.is_written
        )
    )
    return draft.pick(same or [view])


def constant_offset(draft: Draft, view: View) -> None:
    """``p = a + 2``, ``p = &a[2]``."""
    name, by = draft.name("p", "q", "cur"), draft.integer(0, 3)
    value = draft.pick(
        (f"{view.pointer} + {by}", f"&{view.pointer}[{by}]", f"{by} + {view.pointer}")
    )
    draft.setup.append(f"{_declared(view)}{name} = {value};")
    _add(draft, view, name, -by)


def offset_changed_later(draft: Draft, view: View) -> None:
    """``p = a + off; off = 3;``, and ``off`` is used in the region."""
    off, name = draft.name("off", "shift", "h"), draft.name("p", "q")
    draft.setup.append(f"int {off} = {draft.integer(0, 3)};")
    draft.setup.append(f"{_declared(view)}{name} = {view.pointer} + {off};")
    draft.setup.append(
        draft.pick((f"{off} = {draft.integer(0, 3)};", f"{off}++;", f"{off} = {off} / 2;"))
    )
    draft.numbers.append(off)
    _add(draft, view, name)


def changed_through_address(draft: Draft, view: View) -> None:
    """``int *ip = &k; p = a + k; *ip = 2;``."""
    count, pointer, name = (
        draft.name("k0", "cnt", "w0"),
        draft.name("ip", "where"),
        draft.name("p", "q"),
    )
    lines = [f"int {count} = {draft.integer(0, 3)};", f"int *{pointer} = &{count};"]
    change = draft.pick(
        (f"*{pointer} = {draft.integer(0, 3)};", f"*{pointer} += 1;", f"{pointer}[0] = 1;")
    )
    lines += [f"{_declared(view)}{name} = {view.pointer} + {count};", change]
    if draft.chance(0.3):
        lines[2], lines[3] = lines[3], lines[2]
    draft.setup += lines
    draft.numbers.append(count)
    _add(draft, view, name)


def chosen(draft: Draft, view: View) -> None:
    """``p = n > 7 ? a : b``, or by an ``if``."""
    name, other = draft.name("p", "sel", "from"), _other(draft, view)
    test = draft.pick((f"{draft.size} > 7", f"{draft.size} % 2 == 0", f"{draft.size} < 3"))
    if draft.chance(0.5):
        draft.setup.append(
            f"{_declared(view)}{name} = {test} ? {view.pointer} : {other.pointer} + 1;"
        )
    else:
        draft.setup.append(f"{_declared(view)}{name} = {view.pointer};")
        draft.setup.append(f"if ({test}) {name} = {other.pointer};")
    _add(draft, view, name)


def moved(draft: Draft, view: View) -> None:
    """``p = a; p++; p += 2;``."""
    name = draft.name("p", "q", "cur")
    draft.setup.append(f"{_declared(view)}{name} = {view.pointer};")
    for _ in range(draft.integer(1, 3)):
        draft.setup.append(f"{name}{draft.pick(('++', ' += 1', ' = ' + name + ' + 1'))};")
    _add(draft, view, name, -1)


def through_pointer_to_pointer(draft: Draft, view: View) -> None:
    """``double **pp = &p; *pp = b + 1;``."""
    name, way, other = draft.name("p", "q"), draft.name("pp", "slot"), _other(draft, view)
    draft.setup.append(f"{_declared(view)}{name} = {view.pointer};")
    draft.setup.append(f"{_declared(view)}*{way} = &{name};")
    draft.setup.append(
        draft.pick((f"*{way} = {other.pointer} + 1;", f"*{way} += 2;", f"(*{way})++;"))
    )
    _add(draft, view, name)


def moved_by_helper(draft: Draft, view: View) -> None:
    """A function that moves a pointer, or sets it, through its address."""
    name, helper = draft.name("p", "q"), draft.name("forward", "skip")
    kind = _declared(view)
    by = draft.pick(("*p += by", "*p = *p + by", "(*p)++; if (by > 2) (*p)++"))
    draft.file_scope.append(f"static void {helper}({kind}*p, int by) {{ {by}; }}")
    draft.setup.append(f"{kind}{name} = {view.pointer};")
    draft.setup.append(f"{helper}(&{name}, {draft.integer(0, 3)});")
    _add(draft, view, name)


def returned_by_helper(draft: Draft, view: View) -> None:
    """A function that returns a pointer into its argument."""
    name, helper, kind = draft.name("p", "q"), draft.name("pick", "start_of"), _declared(view)
    draft.file_scope.append(
        f"static {kind}{helper}({kind}p, int by) {{ return by > 1 ? p + by : p; }}"
    )
    draft.setup.append(f"{kind}{name} = {helper}({view.pointer}, {draft.integer(0, 3)});")
    _add(draft, view, name)


def table_of_pointers(draft: Draft, view: View) -> None:
    """``double *both[2] = {a, b};``, and one of them."""
    name, other, kind = draft.name("both", "buf"), _other(draft, view), _declared(view)
    draft.setup.append(
        f"{kind}{name}[2] = {{{view.pointer}, {other.pointer} + {draft.integer(0, 2)}}};"
    )
    if draft.chance(0.5):
        local = draft.name("p", "now")
        draft.setup.append(
            f"{kind}{local} = {name}[{draft.pick(('0', '1', draft.size + ' & 1'))}];"
        )
        _add(draft, view, local)
    else:
        _add(draft, view, f"{name}[{draft.integer(0, 1)}]")


def as_bytes(draft: Draft, view: View) -> None:
    """The bytes of integers, as a pointer of another type."""
    if view.element.is_float or view.element.bits < 16 or not view.is_written:
        return
    name = draft.name("bytes", "raw")
    draft.setup.append(f"unsigned char *{name} = (unsigned char *){view.pointer};")
    draft.views.append(View(BYTE, partial("{}[{}]".format, name), 1, name))


def swapped_in_loop(draft: Draft, view: View) -> None:
    """A loop around the region, which exchanges two pointers behind it."""
    first, second, spare = draft.name("cur", "old"), draft.name("nxt", "new"), draft.name("swap")
    other, kind, step = _other(draft, view), _declared(view), draft.name("step", "it")
    draft.setup.append(f"{kind}{first} = {view.pointer}, *{second} = {other.pointer};")
    body = f"{kind}{spare} = {first}; {first} = {second}; {second} = {spare};"
    draft.wrap.append((f"for (int {step} = 0; {step} < 3; {step}++) {{", f"{body}\n}}"))
    _add(draft, view, first)
    _add(draft, other, second)


def moved_in_loop(draft: Draft, view: View) -> None:
    """A loop around the region, with a pointer that moves each time."""
    name, step = draft.name("p", "row"), draft.name("step", "it")
    kind = _declared(view)
    if draft.chance(0.5):
        opening = f"for (int {step} = 0; {step} < 3; {step}++) {{"
        opening = f"{opening}\n{kind}{name} = {view.pointer} + {step};"
        draft.wrap.append((opening, "}"))
    else:
        draft.setup.append(f"{kind}{name} = {view.pointer};")
        draft.wrap.append((f"for (int {step} = 0; {step} < 3; {step}++) {{", f"{name}++;\n}}"))
    draft.numbers.append(step)
    draft.views.append(View(view.element, partial("{}[{}]".format, name), 1, "", view.is_written))


def from_the_end(draft: Draft, view: View) -> None:
    """``last = a + n - 1; n--;``, read at ``last[-i]``."""
    name = draft.name("last", "end")
    draft.setup.append(f"{_declared(view)}{name} = {view.pointer} + {draft.size} + 3;")
    if draft.size == "n" and draft.chance(0.6):
        draft.setup.append(draft.pick(("n -= 2;", "n--;", "n = n - 1;")))
    at = partial(draft.pick(("{}[-({})]", "{}[1 - ({})]", "*({} - ({}))")).format, name)
    draft.views.append(View(view.element, at, 1, "", view.is_written))


def size_changed(draft: Draft, view: View) -> None:
    """A size that changes between two uses, by a helper with a side effect or in place."""
    name = draft.name("p", "q")
    if draft.size == "n":
        pointer = draft.name("np", "len")
        change = draft.pick((f"*{pointer} -= 1;", "n--;", f"*{pointer} = n - 2;"))
        draft.setup.append(f"int *{pointer} = (int *)&n;" if "*" in change else "")
        draft.setup.append(f"{_declared(view)}{name} = {view.pointer} + n / 16;")
        draft.setup.append(change)
    else:
        helper = draft.name("shrink", "tick")
        is_global = draft.size.isidentifier()
        if not is_global:
            return
        draft.file_scope.append(f"static void {helper}(void) {{ {draft.size} -= 1; }}")
        draft.setup.append(f"{_declared(view)}{name} = {view.pointer} + {draft.size} / 16;")
        draft.setup.append(f"{helper}();")
        draft.teardown.append(f"{draft.size} += 1;")
    _add(draft, view, name)


def state_of_function(draft: Draft, view: View) -> None:
    """An offset from a static variable that counts the calls."""
    count, name = draft.name("calls", "phase"), draft.name("p", "q")
    draft.setup.append(f"static int {count};")
    draft.setup.append(f"{count} = ({count} + 1) % 3;")
    draft.setup.append(f"{_declared(view)}{name} = {view.pointer} + {count};")
    if draft.chance(0.5):
        draft.setup.append(f"{count} ^= 1;")
    draft.numbers.append(count)
    _add(draft, view, name)


POINTER_HABITS: tuple[Habit, ...] = (
    *(constant_offset, constant_offset, offset_changed_later, changed_through_address, moved),
    offset_changed_later,
    changed_through_address,
    chosen,
    moved,
    through_pointer_to_pointer,
    moved_by_helper,
    returned_by_helper,
    table_of_pointers,
    as_bytes,
    swapped_in_loop,
    moved_in_loop,
    from_the_end,
    size_changed,
    state_of_function,
)
