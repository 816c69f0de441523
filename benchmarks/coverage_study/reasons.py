"""Kinds of refusals: a table of patterns over the messages, first match first.

A kind groups messages for a count; it decides nothing. What is refused *rightly* is written by
hand into the list of the suite (:mod:`coverage_study.nests`).
"""

import re

_STRUCTURES = "structures"
_POINTERS = "pointers"
_SIZES = "sizes of arrays"
_CONTROL = "control that depends on data"
_CALLS = "calls without a body"
_LABELS = "labels"
_HEADERS = "headers and preprocessing"
_LIMITS = "time and memory"
_BOUNDS = "bounds that are not affine"
_EFFECTS = "side effects"

KINDS: tuple[tuple[str, str], ...] = (
    (r"^crash|^internal error|Traceback|ended without an answer|AssertionError", "crashes"),
    (r"gave up after|took more than|out of isl's reach|too many|too long|longer than", _LIMITS),
    (r"included file|is not a macro|#error|macro", _HEADERS),
    (r"\(struct\b|of type struct|\bstruct(ure)?\b|union", _STRUCTURES),
    (r"the label .* must stand", _LABELS),
    (r"leaves dimension", "fixed arrays with a size"),
    (r"how large|unknown size|dimension of unknown", _SIZES),
    (r"may alias", "a pointer that may alias"),
    (r"pointer arithmetic|involves pointers|is a pointer|no array whose elements|subscripts here",
     _POINTERS),
    (r"while loops|do loops|return inside|break inside|goto|does not end for", _CONTROL),
    (r"bound depends on data|reads an array|assumption depends", "bounds from data"),
    (r"loop bound|step must be|change of \w+ is not supported|multiplies", _BOUNDS),
    (r"calls itself", "recursion"),
    (r"has no body|is a function that is not known|memcpy|memset", _CALLS),
    (r"side effect|must not stand where|cannot be assigned", _EFFECTS),
    (r"is not declared|is another variable|uses the global", "names"),
    (r"of type .*_Complex|of type|integers, float and double", "types"),
    (r"does not end with a return", "helpers with several returns"),
)  # fmt: skip
_OTHER = "other"


def kind_of_reason(reason: str) -> str:
    """Return the kind of a message.

    >>> kind_of_reason("a is a pointer; it may alias an array")
    'a pointer that may alias'
    """
    for pattern, kind in KINDS:
        if re.search(pattern, reason):
            return kind
    return _OTHER
