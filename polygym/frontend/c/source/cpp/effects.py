"""Functions of a file that may change something: a call of one must not be written twice.

``std::min(f(x), y)`` is a conditional expression in C, in which ``f(x)`` stands twice::

    int next(int &x) { return ++x; }                            changes its argument
    double norm(double x) { double s = x; s *= x; return s; }   changes its own variable alone
"""

from collections.abc import Iterable

from polygym.frontend.c.source.cpp.context import CppContext
from polygym.frontend.c.source.cpp.file_scope import CppDeclaration, DeclarationKind
from polygym.frontend.c.source.cpp.tokens import ASSIGNMENTS, called_names


def functions_with_effects(
    context: CppContext, declarations: Iterable[CppDeclaration]
) -> frozenset[str]:
    """Return the functions that may change more than their own scalars, or call one that may."""
    changing: set[str] = set()
    calls: list[tuple[str, set[str]]] = []
    for declared in declarations:
        if declared.kind is DeclarationKind.FUNCTION:
            texts = context.tokens.texts[declared.opening : declared.last]
            calls.append((declared.name, called_names(texts)))
            if _may_change_more(context, texts):
                changing.add(declared.name)
    while more := {name for name, called in calls if called & changing} - changing:
        changing |= more
    return frozenset(changing)


def _may_change_more(context: CppContext, texts: list[str]) -> bool:
    """Whether a head and a body have a static variable, or set anything but scalars of theirs."""
    own = {
        texts[k]
        for k in range(1, len(texts))
        if context.is_scalar(texts[k - 1]) or texts[k - 1] == "auto"
    }

    def is_own(place: int) -> bool:
        return texts[place] in own and texts[place - 1] not in (".", "->", "::")

    return "static" in texts or any(
        not is_own(k - 1) and not (texts[k] in ("++", "--") and is_own(k + 1))
        for k in range(1, len(texts) - 1)
        if texts[k] in ASSIGNMENTS
    )
