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


def formed(node: One) -> One:
    """Return what was read with binders as they are here."""
    if isinstance(node, str):
        return node
    if node[0] == "let":
        return ["let", node[1][0], formed(node[1][1]), formed(node[2])]
    if node[0] == "lam":
        return ["lam", node[1] if isinstance(node[1], str) else node[1][0], formed(node[2])]
    return [node[0], *map(formed, node[1:])]


def children(node: One) -> list[One]:
    """Return the parts that places count."""
    if isinstance(node, str):
        return []
    return node[2:] if node[0] in ("let", "lam") else node[1:]


def with_children(node: One, parts: list[One]) -> One:
    """Return a node with other parts."""
    return [*node[: len(node) - len(parts)], *parts]


def renamed(node: One, names: Mapping[str, str], new: Iterator[int]) -> One:
    """Return a term in which every binder has a name of its own."""
    if isinstance(node, str):
        return names.get(node, node)
    if node[0] in ("let", "lam"):
        inner = {**names, node[1]: f"!{next(new)}"}
        before = [renamed(part, names, new) for part in node[2:-1]]
        return [node[0], inner[node[1]], *before, renamed(node[-1], inner, new)]
    return [node[0], *[renamed(part, names, new) for part in node[1:]]]


def numbered(node: One, binders: tuple[str, ...] = ()) -> One:
    """Return a term with numbers for what it binds, to be compared."""
    if isinstance(node, str):
        return binders[::-1].index(node) if node in binders else node
    if node[0] in ("let", "lam"):
        before = [numbered(part, binders) for part in node[2:-1]]
        return [node[0], *before, numbered(node[-1], (*binders, node[1]))]
    return [node[0], *[numbered(part, binders) for part in node[1:]]]


def free(node: One) -> set[str]:
    """Return the names that a term does not bind."""
    if isinstance(node, str):
        return {node}
    if node[0] in ("let", "lam"):
        own: set[str] = set().union(*map(free, node[2:-1])) if len(node) > 3 else set()
        return own | (free(node[-1]) - {node[1]})
    return set().union(*map(free, node[1:]))


def matches(pattern: One, node: One, known: dict[str, One]) -> bool:
    """Whether a term is an instance; binders of the pattern are names that are known."""
    if isinstance(pattern, str):
        if pattern.startswith("?"):
            return bool(numbered(known.setdefault(pattern, node)) == numbered(node))
        return bool(known.get(pattern, pattern) == node)
    if isinstance(node, str) or pattern[0] != node[0] or len(pattern) != len(node):
        return False
    if pattern[0] in ("let", "lam"):
        known[pattern[1]] = node[1]
    pairs = zip(children(pattern), children(node), strict=True)
    return all(matches(part, its, known) for part, its in pairs)


def put(node: One, name: str, value: One) -> One:
    """Return a term with a value for a name."""
    if isinstance(node, str):
        return value if node == name else node
    return with_children(node, [put(part, name, value) for part in children(node)])


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
