"""Another reader of derivations: texts alone, names instead of numbers, nothing of polygym.

Binders are renamed before every step, so that no two have one name: then nothing can be captured.
Terms are words and lists: ``["let", name, value, body]``, ``["lam", name, body]``, ``[op, …]``.
Of conditions only types are left out; it knows rules without others.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import count
from typing import Any

One = Any


def read(text: str) -> One:
    """Return the term of a text."""
    words = iter(text.replace("(", " ( ").replace(")", " ) ").split())

    def rest(word: str) -> One:
        if word != "(":
            return word
        result = []
        while (word := next(words)) != ")":
            result.append(rest(word))
        return result

    return formed(rest(next(words)))


def formed(one: One) -> One:
    """Return what was read with binders as they are here."""
    if isinstance(one, str):
        return one
    if one[0] == "let":
        return ["let", one[1][0], formed(one[1][1]), formed(one[2])]
    if one[0] == "lam":
        return ["lam", one[1] if isinstance(one[1], str) else one[1][0], formed(one[2])]
    return [one[0], *map(formed, one[1:])]


def children(one: One) -> list[One]:
    """Return the parts that places count."""
    if isinstance(one, str):
        return []
    return one[2:] if one[0] in ("let", "lam") else one[1:]


def with_children(one: One, parts: list[One]) -> One:
    """Return a node with other parts."""
    return [*one[: len(one) - len(parts)], *parts]


def renamed(one: One, names: Mapping[str, str], new: Iterator[int]) -> One:
    """Return a term in which every binder has a name of its own."""
    if isinstance(one, str):
        return names.get(one, one)
    if one[0] in ("let", "lam"):
        inner = {**names, one[1]: f"!{next(new)}"}
        before = [renamed(part, names, new) for part in one[2:-1]]
        return [one[0], inner[one[1]], *before, renamed(one[-1], inner, new)]
    return [one[0], *[renamed(part, names, new) for part in one[1:]]]


def numbered(one: One, binders: tuple[str, ...] = ()) -> One:
    """Return a term with numbers for what it binds, to be compared."""
    if isinstance(one, str):
        return binders[::-1].index(one) if one in binders else one
    if one[0] in ("let", "lam"):
        before = [numbered(part, binders) for part in one[2:-1]]
        return [one[0], *before, numbered(one[-1], (*binders, one[1]))]
    return [one[0], *[numbered(part, binders) for part in one[1:]]]


def free(one: One) -> set[str]:
    """Return the names that a term does not bind."""
    if isinstance(one, str):
        return {one}
    if one[0] in ("let", "lam"):
        own: set[str] = set().union(*map(free, one[2:-1])) if len(one) > 3 else set()
        return own | (free(one[-1]) - {one[1]})
    return set().union(*map(free, one[1:]))


def matches(pattern: One, one: One, known: dict[str, One]) -> bool:
    """Whether a term is an instance; binders of the pattern are names that are known."""
    if isinstance(pattern, str):
        if pattern.startswith("?"):
            return bool(numbered(known.setdefault(pattern, one)) == numbered(one))
        return bool(known.get(pattern, pattern) == one)
    if isinstance(one, str) or pattern[0] != one[0] or len(pattern) != len(one):
        return False
    if pattern[0] in ("let", "lam"):
        known[pattern[1]] = one[1]
    pairs = zip(children(pattern), children(one), strict=True)
    return all(matches(part, its, known) for part, its in pairs)


def put(one: One, name: str, value: One) -> One:
    """Return a term with a value for a name."""
    if isinstance(one, str):
        return value if one == name else one
    return with_children(one, [put(part, name, value) for part in children(one)])


def instance(pattern: One, known: Mapping[str, One]) -> One:
    """Return what a target stands for."""
    if isinstance(pattern, str):
        return known.get(pattern, pattern)
    if pattern[0] == "subst":
        _, name, value, body = pattern
        return put(known[body], known[name], instance(value, known))
    if pattern[0] in ("let", "lam"):
        parts = [instance(part, known) for part in children(pattern)]
        return [pattern[0], known[pattern[1]], *parts]
    return [pattern[0], *[instance(part, known) for part in pattern[1:]]]


def after(root: One, place: list[int], line: str) -> One:
    """Return a term after a step by a rule's line at a place."""
    if len(place) > 1 or (place and not line.startswith(("bind:", "lift:"))):
        parts = children(root)
        parts[place[0]] = after(parts[place[0]], place[1:], line)
        return with_children(root, parts)
    if line.startswith("bind:"):
        parts = children(root)
        parts[place[0]] = ["let", "!new", parts[place[0]], "!new"]
        return with_children(root, parts)
    if line.startswith("lift:"):
        parts = children(root)
        word, name, value, body = parts[place[0]]
        binds = root[0] in ("let", "lam") and place[0] == len(parts) - 1
        assert word == "let"
        assert not (binds and root[1] in free(value))
        parts[place[0]] = body
        return ["let", name, value, with_children(root, parts)]
    source, target = map(read, line.partition(": ")[2].split(" if (")[0].split(" => "))
    known: dict[str, One] = {}
    assert matches(source, root, known), line
    made = instance(target, known)
    assert free(made) <= free(root) | free(target), line
    return made


def followed(record: Mapping[str, Any]) -> int:
    """Follow a derivation; return how many steps it has."""
    lines = {line.partition(":")[0]: line for line in record["rules"].split("\n") if line}
    at = read(record["program"])
    for step in record["derivation"]:
        at = after(renamed(at, {}, count()), step["position"], lines[step["rule"]])
        assert numbered(at) == numbered(read(step["term"])), step
    assert numbered(at) == numbered(read(record["term"]))
    return len(record["derivation"])
