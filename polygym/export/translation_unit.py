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
    text = embedding.text
    for begin, end, replacement in sorted(edits, reverse=True):
        text = text[:begin] + replacement + text[end:]
    return top + text


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
    margin = _INDENT.match(embedding.text, embedding.begin)
    indent = margin[0] if margin else ""
    statements = embedding.text[embedding.first : embedding.last].strip("\n")
    before, after = _copies(embedding, indent + "  ")
    conditions = [f"!({condition})" for condition in embedding.requirements]
    rows = [array for array in embedding.arrays if array.is_rows]
    for array in rows:
        before += _row_test(array, indent + "  ")
        conditions.append(f"!{_rows_name(array)}")
    conditions.append(f"{plan.name}({_arguments(embedding, plan)}) != 0")
    otherwise = f"}} else {{\n{after}{indent}}}" if after else "}"
    lines = f"{indent}if ({' || '.join(conditions)}) {{\n{statements}\n{indent}{otherwise}"
    if not before:
        return f"{lines}"
    return f"{indent}{{\n{before}{lines}\n{indent}}}"


def _arguments(embedding: RegionEmbedding, plan: KernelPlan) -> str:
    """Return the arguments of the call: addresses, places of variables, sizes."""
    arrays = {array.array.name: array for array in embedding.arrays}
    result = []
    for array in plan.arrays:
        own = arrays[array.name]
        const = "" if array.name in plan.written else "const "
        address = f"&{_copy_name(own)}" if own.is_register else own.address
        result.append(f"({const}{element_type(array)} *){_in_parentheses(address)}")
    parameters = {parameter.name: parameter for parameter in embedding.parameters}
    result += [f"(const void *){parameters[name].address}" for name, _ in plan.watched]
    result += [f"(long){parameters[parameter.name].value}" for parameter in plan.parameters]
    return ", ".join(result)


def _in_parentheses(text: str) -> str:
    return text if re.fullmatch(r"&?\w+", text) else f"({text})"


def _copy_name(array: EmbeddedArray) -> str:
    return f"polygym_{array.array.name}"


def _rows_name(array: EmbeddedArray) -> str:
    return f"polygym_rows_{array.array.name}"


def _copies(embedding: RegionEmbedding, indent: str) -> tuple[str, str]:
    """Return what copies variables without an address, before and after the call."""
    before, after = "", ""
    for array in embedding.arrays:
        if array.is_register:
            name = array.address.removeprefix("&")
            before += f"{indent}{array.array.type.value} {_copy_name(array)} = {name};\n"
            after += f"{indent}{name} = {_copy_name(array)};\n" if array.array.live_out else ""
    return before, after


def _row_test(array: EmbeddedArray, indent: str) -> str:
    """Return the test that the rows of a matrix of pointers lie one behind the other."""
    rows, columns = array.array.c_extents
    name, place = _rows_name(array), f"polygym_row_{array.array.name}"
    base = array.address.removesuffix("[0]")
    return (
        f"{indent}int {name} = ({rows}) > 0;\n"
        f"{indent}long {place};\n"
        f"{indent}for ({place} = 1; {name} && {place} < ({rows}); {place}++)\n"
        f"{indent}  {name} = {base}[{place}] == {base}[0] + {place} * ({columns});\n"
    )


def expect_distinct(embedding: RegionEmbedding, names: list[str]) -> None:
    """Refuse names that the file uses for something else.

    Raises:
        InputError: one is taken.
    """
    for name in names:
        if re.search(rf"\b{re.escape(name)}\b", embedding.text):
            raise InputError(f"--name: expected a name that the file does not use, found {name}")
