"""Rules that are found: terms are enumerated, those of equal values become rules, and are verified.

``worlds`` says of which variables and operators, ``terms`` enumerates them, ``singles`` and
``pairs`` make rules of one source and of two, ``generalise`` puts variables for literals,
``conditions`` finds under which a rule holds, ``derive`` tells what follows from other rules, and
``table`` writes them. All of it comes from a seed alone.

Each world that is done is kept in a journal beside the table, so that an interrupted run goes on
where it was.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from polygym.files import write_atomically
from polygym.graphs.rules.generate.pairs import paired_rules
from polygym.graphs.rules.generate.singles import single_rules
from polygym.graphs.rules.generate.table import header, pruned, table
from polygym.graphs.rules.generate.terms import enumerate_terms
from polygym.graphs.rules.generate.worlds import WORLDS, World
from polygym.pickles import pickled_by_name
from polygym.rewrite.rule import Rule, parse_rules, text_of_rules

__all__ = ["Generated", "generate"]


@pickled_by_name
@dataclass(frozen=True, slots=True)
class Generated:
    """What was found, and how much was looked at.

    ``is_whole`` says whether every world was looked at to its end.
    """

    rules: list[Rule]
    terms: int
    equations: int
    seconds: float
    is_whole: bool

    def to_json(self) -> dict[str, Any]:
        """Return a document."""
        return {
            "rules": [str(one) for one in self.rules],
            "terms": self.terms,
            "equations": self.equations,
            "seconds": round(self.seconds, 1),
            "whole": self.is_whole,
        }


def generate(
    target: Path,
    *,
    seed: int = 0,
    minutes: float = 30.0,
    progress: Callable[[str], None] = lambda _: None,
    worlds: tuple[World, ...] = WORLDS,
) -> Generated:
    """Find rules and write a table of them.

    When time is up the table has what was found so far, the journal stays, and the next call goes
    on with the world in which it ended.
    """
    journal = target.with_name(target.name + ".journal")
    key = sha256(f"{seed} {worlds!r}".encode()).hexdigest()
    done = _read(journal, key)
    begin = time.monotonic() - sum(one["seconds"] for one in done.values())
    end = time.monotonic() + 60 * minutes
    rules: list[Rule] = []
    is_whole = True
    for world in worlds:
        if world.name not in done:
            if time.monotonic() > end:
                is_whole = False
                break
            start = time.monotonic()
            entry = _world(world, rules, seed, progress, end)
            if time.monotonic() > end:
                is_whole = False
                rules += parse_rules(entry["rules"])
                break
            entry["seconds"] = time.monotonic() - start
            done[world.name] = entry
            write_atomically(journal, json.dumps({"key": key, "done": done}).encode())
        rules += parse_rules(done[world.name]["rules"])
    kept = pruned(rules, seed, progress)
    made = Generated(
        kept,
        sum(one["terms"] for one in done.values()),
        sum(one["equations"] for one in done.values()),
        time.monotonic() - begin,
        is_whole,
    )
    lines = header(seed, made.terms, made.equations, kept, made.seconds, is_whole)
    write_atomically(target, (lines + table(kept)).encode())
    if is_whole:
        journal.unlink(missing_ok=True)
    return made


def _world(
    world: World, known: list[Rule], seed: int, progress: Callable[[str], None], end: float
) -> dict[str, Any]:
    def is_late() -> bool:
        return time.monotonic() > end

    terms = enumerate_terms(world, seed)
    if world.shares:
        found = paired_rules(world, terms, seed, progress, is_late)
    else:
        found = single_rules(world, terms, known, seed, progress, is_late)
    return {
        "rules": text_of_rules(found),
        "terms": terms.made,
        "equations": len(terms.candidates),
    }


def _read(journal: Path, key: str) -> dict[str, Any]:
    """Return what a journal says, if it is of the same seed and worlds."""
    try:
        document = json.loads(journal.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return dict(document["done"]) if document.get("key") == key else {}
