"""The user's file with a call of the kernel in the place of the region.

The statements of the region stay, for all that the kernel refuses::

    #pragma scop                               if (gemm_kernel(&C[0][0], …, n) != 0) {
    for (int i = 0; i < n; i++)         →        for (int i = 0; i < n; i++)
      …                                            …
    #pragma endscop                            }

All other text stays as it is.
"""

import os
import re
from dataclasses import dataclass
from pathlib import Path

from polygym.errors import InputError
from polygym.export.header import element_type
from polygym.export.kernel import KernelPlan
from polygym.frontend.c.embedding import EmbeddedArray, RegionEmbedding

_QUOTED_INCLUDE = re.compile(r'^([ \t]*#[ \t]*include[ \t]*")([^"\n]+)(")', re.MULTILINE)
_INDENT = re.compile(r"[ \t]*")


def rewritten_unit(
    embedding: RegionEmbedding, plan: KernelPlan, top: str, *, is_external: bool = False
) -> str:
    """Return the file with the call; ``top`` stands above all else.

    With ``is_external`` the function is no longer static.
    """
    edits = [(embedding.begin, embedding.end, _call(embedding, plan))]
    if is_external:
        edits += [(begin, end, "") for begin, end in embedding.linkage_spans]
    return top + _edited(embedding.text, edits)


def source_unit(embedding: RegionEmbedding, top: str) -> str:
    """Return the file with its own loops, the pragmas left out; the function is not static."""
    statements = embedding.text[embedding.first : embedding.last].strip("\n")
    edits = [(embedding.begin, embedding.end, statements)]
    edits += [(begin, end, "") for begin, end in embedding.linkage_spans]
    return top + _edited(embedding.text, edits)


def _edited(text: str, edits: list[tuple[int, int, str]]) -> str:
    for begin, end, replacement in sorted(edits, reverse=True):
        text = text[:begin] + replacement + text[end:]
    return text


def with_relative_includes(text: str, source: Path, folder: Path) -> str:
    """Return a text whose ``#include "…"`` are found from another folder."""

    def moved(match: re.Match[str]) -> str:
        target = source.parent / match[2]
        if not target.is_file():
            return match[0]
        return f"{match[1]}{os.path.relpath(target.resolve(), folder.resolve())}{match[3]}"

    return _QUOTED_INCLUDE.sub(moved, text)


def _call(embedding: RegionEmbedding, plan: KernelPlan) -> str:
    """Return what stands in the place of the region."""
    statements = embedding.text[embedding.first : embedding.last].strip("\n")
    margin = _INDENT.match(statements)
    indent = margin[0] if margin else ""
    copies = [_copy_of(own, embedding) for own in embedding.arrays]
    before = [line for copy in copies for line in copy.before]
    conditions = [f"!({condition})" for condition in embedding.requirements]
    pointers = [text for own in embedding.arrays for text in own.structures]
    conditions += [f"!{_in_parentheses(text)}" for text in dict.fromkeys(pointers)]
    layouts = [text for own in embedding.arrays for text in own.layout_conditions]
    conditions += [f"!({text})" for text in dict.fromkeys(layouts)]
    conditions += [condition for copy in copies for condition in copy.refusals]
    conditions.append(f"{plan.name}({_arguments(embedding, plan)}) != 0")
    after = [line for copy in copies for line in copy.after]
    end = [line for copy in copies for line in copy.end]
    lines = [f"if ({' || '.join(conditions)}) {{", *statements.split("\n")]
    lines += ["} else {", *(f"  {line}" for line in after), "}"] if after else ["}"]
    kept = range(1, 1 + len(statements.split("\n")))
    if before or end:
        lines = [
            "{",
            *(f"  {line}" for line in before),
            *lines,
            *(f"  {line}" for line in end),
            "}",
        ]
        first = 1 + len(before) + 1
        kept = range(first, first + len(statements.split("\n")))
    return "\n".join(
        line if place in kept else f"{indent}{line}" for place, line in enumerate(lines)
    )


def _arguments(embedding: RegionEmbedding, plan: KernelPlan) -> str:
    """Return the arguments of the call: addresses, places of variables, sizes."""
    arrays = {array.array.name: array for array in embedding.arrays}
    result = []
    for array in plan.arrays:
        own = arrays[array.name]
        const = "" if array.name in plan.written else "const "
        address = own.address
        if own.is_register:
            address = f"&{_copy_name(own)}"
        result.append(f"({const}{element_type(array)} *){_in_parentheses(address)}")
    parameters = {parameter.name: parameter for parameter in embedding.parameters}
    result += [f"(const void *){parameters[name].address}" for name, *_ in plan.watched]
    result += [f"(long){parameters[parameter.name].value}" for parameter in plan.parameters]
    return ", ".join(result)


def _in_parentheses(text: str) -> str:
    return text if re.fullmatch(r"&?\w+", text) else f"({text})"


def _copy_name(array: EmbeddedArray) -> str:
    return f"polygym_{array.array.name}"


@dataclass(frozen=True, slots=True)
class _Copy:
    """Lines around the call for one array, and the conditions under which it is not made.

    ``before`` stands before it, ``after`` where the kernel has run, ``end`` behind all.
    """

    before: tuple[str, ...] = ()
    refusals: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    end: tuple[str, ...] = ()


def _copy_of(own: EmbeddedArray, embedding: RegionEmbedding) -> _Copy:
    """Return what an array needs around the call: nothing, where it lies in one piece."""
    if own.is_register:
        name, copy = own.address.removeprefix("&"), _copy_name(own)
        after = (f"{name} = {copy};",) if own.array.live_out else ()
        return _Copy((f"{own.array.type.value} {copy} = {name};",), (), after)
    if own.is_rows:
        return _rows_test(own, embedding)
    return _Copy()


def _rows_test(own: EmbeddedArray, embedding: RegionEmbedding) -> _Copy:
    """Return the test that the rows of an array of pointers lie one behind the other.

    With more dimensions the pointers lead to pointers, and all rows are looked at in their order.
    """
    *outer, columns = (_in_file(extent, embedding) for extent in own.c_extents)
    name = f"polygym_rows_{own.array.name}"
    counters = [f"{name}_{place}" for place in range(len(outer))]
    base = own.address.removesuffix("[0]" * len(outer))
    position = "0L"
    lines = [
        f"int {name} = {_all_pointers([base, *own.structures])};",
        f"long {', '.join(counters)};",
    ]
    row = base
    for depth, (counter, extent) in enumerate(zip(counters, outer, strict=True)):
        margin = "  " * depth
        lines += [
            f"{margin}{name} = {name} && ({extent}) > 0;",
            f"{margin}for ({counter} = 0; {name} && {counter} < ({extent}); {counter}++) {{",
        ]
        row = f"{row}[{counter}]"
        position = f"({position} * ({extent}) + {counter})"
        if depth + 1 < len(outer):
            lines.append(f"{margin}  {name} = {row} != 0;")
    margin = "  " * len(outer)
    lines.append(f"{margin}{name} = {row} == {own.address} + {position} * ({columns});")
    lines += ["  " * depth + "}" for depth in reversed(range(len(outer)))]
    return _Copy(tuple(lines), (f"!{name}",))


def _all_pointers(texts: list[str]) -> str:
    """Return the condition that none of some pointers is null, those that lead to others first."""
    first, *others = texts
    return " && ".join(f"{text} != 0" for text in (*others, first))


def _in_file(extent: str, embedding: RegionEmbedding) -> str:
    """Return a size in C with the names of the file in the place of the program's."""
    values = {parameter.name: parameter.value for parameter in embedding.parameters}
    return re.sub(r"[A-Za-z_]\w*", lambda match: values.get(match[0], match[0]), extent)


def expect_distinct(embedding: RegionEmbedding, names: list[str]) -> None:
    """Refuse names that the file uses for something else.

    Raises:
        InputError: one is taken.
    """
    for name in names:
        if re.search(rf"\b{re.escape(name)}\b", embedding.text):
            raise InputError(f"--name: expected a name that the file does not use, found {name}")
