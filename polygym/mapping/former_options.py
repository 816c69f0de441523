"""Mappings in old files: their texts have words by the names that these had before."""

from __future__ import annotations

from polygym.errors import InputError
from polygym.mapping.mapping import FORMER_OPTIONS, Mapping, parse_mapping


def to_former_text(mapping: Mapping) -> str:
    """Return the text that a mapping had before some words were given other names.

    Fingerprints of texts in old files are of this one.

    >>> in_former_words(parse_mapping("tile=32 unroll_jam=4 registers=off"))
    'tile=32 jam=4 hold=off'
    """
    former = {now: before for before, now in FORMER_OPTIONS.items()}
    words = (word.partition("=") for word in str(mapping).split())
    return " ".join(f"{former.get(name, name)}{equals}{value}" for name, equals, value in words)


def to_current_text(text: str) -> str:
    """Return the text that a mapping of a file has today; one that is no mapping stays as it is.

    >>> in_current_words("jam=4 tile=32 hold=on"), in_current_words("jam=4x")
    ('tile=32 unroll_jam=4', 'jam=4x')
    """
    try:
        return str(parse_mapping(text))
    except InputError:
        return text
