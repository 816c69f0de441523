"""Statements that no region has: why, and what to write instead."""

from typing import Any

from pycparser import c_ast

_COUNTED_LOOP = "write 'for (i = …; i < …; i++)' where the number of iterations is known"
_OWN_BLOCK = "let every case stand in the switch's own block"

# What is not supported, and what to write instead.
_UNSUPPORTED = {
    c_ast.While: ("while loops are", _COUNTED_LOOP),
    c_ast.DoWhile: ("do loops are", _COUNTED_LOOP),
    c_ast.Break: ("break is", "let the loop run on, and put the rest of its body under an if"),
    c_ast.Continue: (
        "continue is",
        "put the rest of the loop's body under an if with the opposite condition",
    ),
    c_ast.Goto: ("goto is", "write an if around what is skipped"),
    c_ast.Return: ("return inside the region is", "put what follows under an if"),
    c_ast.Case: ("a case inside another statement is", _OWN_BLOCK),
    c_ast.Default: ("a default inside another statement is", _OWN_BLOCK),
}


_AFFINE = (
    "only affine expressions of iterators and parameters are understood here: sums, multiples, and "
    "division by constants"
)


def replacement_hint(role: str, reason: str) -> str:
    """Return what to write in the place of an expression that is not affine."""
    if role == "a loop bound" and reason.startswith("depends on data"):
        return (
            "add an affine bound that it never exceeds, j < m && j < n[i], with a counter that is "
            "not used behind the loop; or declare an array that every iteration uses at j with its "
            "size (--extent value=nnz says it beside the file); or let the loop run as far as it "
            "does for any data, and ask inside: for (j = 0; j < m; j++) if (row[i] <= j && j < "
            "row[i + 1]) …"
        )
    if role == "a loop bound" and reason.startswith("multiplies"):
        return "write a loop for each of the factors, or hand the product over as an argument"
    if role.startswith("the size of") and reason.startswith("multiplies"):
        return (
            "declare a dimension for each of the factors, and write A[i][j]; or give the size a "
            "name of its own (int size, double A[size]), with subscripts that are computed when "
            "the program runs"
        )
    return _AFFINE


def unsupported_statement(node: Any) -> tuple[str, str]:
    """Return the sentence that refuses a statement, and what to write instead."""
    if type(node) not in _UNSUPPORTED:
        return "this has no effect or is not supported", ""
    subject, replacement = _UNSUPPORTED[type(node)]
    return (
        f"{subject} not supported: which iterations run would depend on what ran before; a region "
        "is made of for loops and if alone",
        replacement,
    )
