"""The comprehensions that come with polygym, by name.

``matmul`` computes with ``float``; ``matmul:double`` is the same with ``double`` in its place. The
gradient of ``conv2d`` is ``conv2d_gradient``, or, where its parts are separate comprehensions,
everything that begins with ``conv2d_gradient_of_``.
"""

from dataclasses import replace
from difflib import get_close_matches
from functools import cache
from itertools import takewhile
from pathlib import Path
from typing import TypeVar

from polygym.errors import InputError
from polygym.frontend.tc.parsing.definitions import parse_definitions
from polygym.frontend.tc.syntax import tree

__all__ = ["DEFAULT_SIZES", "definition", "definitions", "description", "gradients"]

_Declared = TypeVar("_Declared", tree.TcParameter, tree.TcOutput, tree.ConvertExpression)
_FOLDER = Path(__file__).parent

DEFAULT_SIZES = {"KH": 3, "KW": 3, "kh": 2, "kw": 2, "sh": 2, "sw": 2, "dh": 2, "dw": 2}
DEFAULT_SIZES |= {"ph": 1, "pw": 1, "oh": 1, "ow": 1, "rows": 12, "columns": 12}
"""What programs take for these sizes of kernels and windows, and distances, if nothing is said."""

# Beside its own gradients, a comprehension may have those of another one.
_SHARED_GRADIENTS = {"conv2d_bias": "conv2d"}


@cache
def definitions() -> dict[str, tree.TcDefinition]:
    """Return all of them, by files and as the texts have them; files of gradients come last."""
    result = {}
    for path in sorted(_FOLDER.glob("*.tc"), key=lambda path: ("gradient" in path.name, path.name)):
        for tc_definition in parse_definitions(path.read_text(encoding="utf-8"), str(path)):
            assert tc_definition.name not in result, tc_definition.name
            result[tc_definition.name] = tc_definition
    return result


def definition(name: str) -> tree.TcDefinition:
    """Return one; the name may end with the type of its floating numbers, as ``matmul:double``.

    Raises:
        InputError: there is none of that name, or no such type.
    """
    plain, scalar = _parts(name)
    return _with_type(definitions()[plain], scalar)


def description(name: str) -> str:
    """Return the paragraph of comments before the definition of one, "" without any.

    >>> description("embedding")
    'Row I(n) of a table, for each n.'
    """
    place = definition(name).location
    lines = Path(place.file).read_text(encoding="utf-8").splitlines()[: place.line - 1]
    above = takewhile(lambda line: line.startswith("#"), reversed(lines))
    return " ".join(reversed([line.removeprefix("#").strip() for line in above]))


def gradients(name: str) -> tuple[tree.TcDefinition, ...]:
    """Return those that compute the derivatives of one, none where the library has none.

    >>> [one.name for one in gradients("conv2d")]
    ['conv2d_gradient_of_image', 'conv2d_gradient_of_kernel']
    """
    plain, scalar = _parts(name)
    own = f"{plain}_gradient"
    tc_definitions = [
        tc_definition
        for other, tc_definition in definitions().items()
        if other == own or other.startswith(f"{own}_of_")
    ]
    if plain in _SHARED_GRADIENTS:
        tc_definitions += gradients(_SHARED_GRADIENTS[plain])
    return tuple(_with_type(tc_definition, scalar) for tc_definition in tc_definitions)


def _parts(name: str) -> tuple[str, tree.ElementType]:
    """Return the name proper, and the type that comes behind it."""
    known = definitions()
    plain, colon, said = name.partition(":")
    if plain not in known:
        close = get_close_matches(plain, known, 1)
        hint = f"; did you mean {close[0]}?" if close else ""
        raise InputError(f"tc:{name}: expected one of {', '.join(known)}{hint}")
    scalar = tree.TYPE_NAMES.get(said) if colon else tree.ElementType.FLOAT
    if scalar not in (tree.ElementType.FLOAT, tree.ElementType.DOUBLE):
        raise InputError(
            f"tc:{name}: expected tc:{plain}, tc:{plain}:float or tc:{plain}:double, found the "
            f"type {said!r}"
        )
    return plain, scalar


def _with_type(definition: tree.TcDefinition, scalar: tree.ElementType) -> tree.TcDefinition:
    """Return a definition with another type in the place of ``float``, in conversions too."""

    def converted(expression: tree.Expression) -> tree.Expression:
        made = tree.with_operands(expression, converted)
        return _declared(made, scalar) if isinstance(made, tree.ConvertExpression) else made

    return replace(
        definition,
        parameters=tuple(_declared(parameter, scalar) for parameter in definition.parameters),
        outputs=tuple(_declared(output, scalar) for output in definition.outputs),
        statements=tuple(
            statement.with_expressions(converted) for statement in definition.statements
        ),
    )


def _declared(declared: _Declared, scalar: tree.ElementType) -> _Declared:
    return replace(declared, type=scalar) if declared.type is tree.ElementType.FLOAT else declared
