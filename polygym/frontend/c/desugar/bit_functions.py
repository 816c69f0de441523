"""Functions of the compiler that count bits, as functions of the file.

``__builtin_popcount``, ``__builtin_parity`` and ``__builtin_ctz``, also for ``long``, have bodies
here: the sums of neighbouring bits, then of pairs, of groups of four, and of all bytes by a
multiplication. What is called gets a definition in front of the file's own::

    n += __builtin_popcount(a[i] ^ b[i]);       int polygym_popcount(unsigned x) { … }
                                                n += polygym_popcount(a[i] ^ b[i]);
"""

from typing import Any

from pycparser import c_ast
from pycparser.c_parser import CParser

from polygym.frontend.c.source import syntax

_COUNT = """
int {name}({type} x) {{
  {type} pairs = x - (x >> 1 & {fives});
  {type} fours = (pairs & {threes}) + (pairs >> 2 & {threes});
  return (int)((fours + (fours >> 4) & {fs}) * {ones} >> {shift});
}}
"""
_OF_COUNT = "int {name}({type} x) {{ return {expression}; }}"
_VALUES = {
    "": ("unsigned", 32, "u"),
    "l": ("unsigned long", 64, "ul"),
    "ll": ("unsigned long", 64, "ul"),
}
_EXPRESSIONS = {
    "parity": "polygym_popcount{suffix}(x) & 1",
    "ctz": "polygym_popcount{suffix}((x & -x) - 1)",
}


def with_bit_functions(tree: Any) -> None:
    """Define the functions that count bits, where a file calls them; its tree is changed."""
    functions = syntax.functions_of(tree)
    defined = set(functions)
    bodies = [function.body for function in functions.values()]
    for call in list(syntax.walk(bodies, c_ast.FuncCall)):
        name = getattr(call.name, "name", None)
        wanted = _wanted(name) if isinstance(name, str) else None
        if wanted is None or name in defined:
            continue
        kind, suffix = wanted
        call.name = c_ast.ID(f"polygym_{kind}{suffix}", call.name.coord)
        for needed in dict.fromkeys(("popcount", kind)):
            if f"polygym_{needed}{suffix}" not in defined:
                defined.add(f"polygym_{needed}{suffix}")
                tree.ext.insert(0, _definition(needed, suffix, call))


def _wanted(name: str) -> tuple[str, str] | None:
    """Return a function of the compiler without its suffix, and the suffix; None for others."""
    for kind in ("popcount", *_EXPRESSIONS):
        before, _, suffix = name.partition(kind)
        if before == "__builtin_" and suffix in _VALUES:
            return kind, suffix
    return None


def _definition(kind: str, suffix: str, like: Any) -> Any:
    """Return the definition of a function that counts bits, at the place of a node."""
    type_name, bits, unsigned = _VALUES[suffix]
    name = f"polygym_{kind}{suffix}"

    def repeated(byte: str) -> str:
        return f"0x{byte * (bits // 8)}{unsigned}"

    if kind == "popcount":
        text = _COUNT.format(
            name=name, type=type_name, shift=bits - 8, fives=repeated("55"),
            threes=repeated("33"), fs=repeated("0f"), ones=repeated("01"),
        )  # fmt: skip
    else:
        expression = _EXPRESSIONS[kind].format(suffix=suffix)
        text = _OF_COUNT.format(name=name, type=type_name, expression=expression)
    definition = CParser().parse(text, "").ext[0]
    for node in syntax.walk(definition):
        node.coord = like.coord
    return definition
