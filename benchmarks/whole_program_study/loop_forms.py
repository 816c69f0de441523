"""Loops as people write them: ``for``, ``while``, ``do``, upwards, downwards, in steps."""

from __future__ import annotations

from dataclasses import dataclass

from whole_program_study.draft import Draft


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


def loop_end(draft: Draft) -> str:
    """Return the end of a loop, at times by a small number of the kernel."""
    if draft.numbers and draft.chance(0.25):
        return f"{draft.size} - {draft.pick(draft.numbers)} % 2"
    return draft.pick((draft.size, draft.size, f"{draft.size} - 1", f"{draft.size} - 2"))
