"""Bodies of loops: stores, guards, ``switch``, calls of small functions, small arrays.

Subscripts stay between 2 below and 3 above the counter, which runs from 2 on.
"""

from __future__ import annotations

from whole_program_study.draft import Draft, View
from whole_program_study.elements import DOUBLE, INT, Element, Leaf, condition, stored, value


def element_near(draft: Draft, view: View, index: str, *, spread: bool = True) -> str:
    """Return an element near an index; views of two dimensions near their diagonal."""
    shift = draft.pick((0, 0, 0, -2, -1, 1, 2)) if spread else 0
    text = f"{index} {'+' if shift > 0 else '-'} {abs(shift)}" if shift else index
    if view.rank < 2:
        return view.at(text)
    return view.at(draft.pick((index, "1", "2")), f"({text}) / 2")


def index_arrays(draft: Draft) -> list[str]:
    """Return the names of the arrays of subscripts."""
    return [habit.split()[1] for habit in draft.habits if habit.startswith("index")]


def reads(draft: Draft, index: str, most: int = 3) -> list[Leaf]:
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
            result.append((element_near(draft, view, index), view.element))
    gathers = index_arrays(draft)
    linear = draft.views_of(1)
    if gathers and linear and draft.chance(0.3):
        view = draft.pick(linear)
        result.append((view.at(f"{draft.pick(gathers)}[{index}]"), view.element))
    weights = [habit.split()[1:] for habit in draft.habits if habit.startswith("weights")]
    if weights and draft.chance(0.3):
        name, kind = draft.pick(weights)
        result.append((f"{name}[{index} & 7]", DOUBLE if kind == "float" else INT))
    return result


def target_view(draft: Draft, rank: int | None = None) -> View:
    """Return memory to write to, of a rank where it is given."""
    ranks = (1, 1, 1, 2) if rank is None else (rank,)
    return draft.pick(
        draft.views_of(draft.pick(ranks), written=True) or draft.views_of(1, written=True)
    )


def store(draft: Draft, text: str, element: Element, leaves: list[Leaf]) -> str:
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
    text = element_near(draft, target, index, spread=draft.chance(0.3))
    element, leaves = target.element, reads(draft, index)
    plain = store(draft, text, element, leaves)
    match draft.integer(0, 11):
        case 0 | 1 | 2 | 3:
            return [plain]
        case 4:
            local, kind = draft.name("t", "val", "d"), draft.pick((element, leaves[0][1]))
            made = f"{kind.name} {local} = {value(draft, kind, leaves)};"
            return [made, store(draft, text, element, [(local, kind), *reads(draft, index, 1)])]
        case 5:
            other = store(draft, text, element, reads(draft, index))
            return [f"if ({condition(draft, leaves[0])}) {{", plain, "} else {", other, "}"]
        case 6:
            return [f"if ({condition(draft, leaves[0])}) continue;", plain]
        case 7:
            return [f"if ({index} % {draft.integer(2, 4)} == 0) {plain}"]
        case 8:
            cases = [store(draft, text, element, reads(draft, index, 2)) for _ in range(3)]
            return _switch(draft, f"{index} & 3", cases)
        case 9:
            return _with_helper(draft, text, element, leaves)
        case 10:
            second = target_view(draft)
            more = store(
                draft, element_near(draft, second, index), second.element, reads(draft, index, 2)
            )
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
        return [store(draft, text, element, [*leaves, (f"{literal}[{index} & 3]", INT)])]
    name, counter = draft.name("win", "tap"), draft.name("c", "z0")
    first, start = value(draft, element, leaves), stored(draft, element, counter)
    entry = f"{name}[{draft.integer(0, 2)}]"
    return [
        f"{element.name} {name}[3];",
        f"for (int {counter} = 0; {counter} < 3; {counter}++) {name}[{counter}] = {start};",
        f"{name}[1] = {first};",
        store(draft, text, element, [(entry, element), (f"{name}[1]", element)]),
    ]  # fmt: skip
