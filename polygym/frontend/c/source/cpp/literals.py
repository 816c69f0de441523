"""Numbers with separators and raw strings of C++, which tokens of C have not.

Lines and columns stay::

    int n = 1'000;  s = R"x(a"b)x";    →    int n = 1000 ;  s = ""         ;
"""

import re

_PIECES = re.compile(
    r"""
    (?P<raw>\b(?:u8|u|U|L)?R"(?P<delimiter>[^()\\\s]{0,16})\((?s:.*?)\)(?P=delimiter)")
    | (?P<number>(?<![\w.])[0-9][0-9a-zA-Z_.]*(?:'[0-9a-zA-Z_.]+)+)
    | "(?:\\.|\\\n|[^"\\\n])*" | '(?:\\.|\\\n|[^'\\\n])*'
    | //(?:\\\n|[^\n])* | /\*(?:[^*]|\*(?!/))*(?:\*/|\Z)
    """,
    re.VERBOSE,
)


def plain_literals(text: str) -> str:
    """Return a text without separators in numbers and without raw strings.

    >>> plain_literals("x = 1'000; // don't")
    "x = 1000 ; // don't"
    """

    def plain(match: re.Match[str]) -> str:
        piece = match[0]
        if match["number"]:
            return piece.replace("'", "").ljust(len(piece))
        if match["raw"]:
            return '""' + re.sub(r"[^\n]", " ", piece[2:])
        return piece

    return _PIECES.sub(plain, text)
