"""Rules that are found: terms are enumerated, those of equal values become rules, and are verified.

Each world that is done is kept in a journal beside the table, so that an interrupted run goes on
where it was.

===================  ===========================================================================
``enumeration``      vocabularies, and all terms of one up to a size, with those of equal values
``generalization``   from an equation of one world to a rule
``published``        rules as others publish them, and whether ours show them
``rule_table``       the table of what was found
``side_conditions``  side conditions
``source_rules``     rules with one source
===================  ===========================================================================
"""

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from polygym.files import write_atomically
from polygym.graphs.rules.generate.enumeration import VOCABULARIES, Vocabulary, enumerate_terms
from polygym.graphs.rules.generate.rule_table import prune_rules, rules_table, table_header
from polygym.graphs.rules.generate.source_rules import one_source_rules, two_source_rules
from polygym.pickling import pickle_by_name
from polygym.rewrite.rule import Rule, parse_rules, rules_text

__all__ = ["GeneratedRules", "generate_rules"]


@pickle_by_name
@dataclass(frozen=True, slots=True)
class GeneratedRules:
    """What was found, and how much was looked at.

    ``is_complete`` says whether every world was looked at to its end.
    """

    rules: list[Rule]
    terms: int
    equations: int
    seconds: float
    is_complete: bool

    def to_json(self) -> dict[str, Any]:
        """Return a document."""
        return {
            "rules": [str(rule) for rule in self.rules],
            "terms": self.terms,
            "equations": self.equations,
            "seconds": round(self.seconds, 1),
            "whole": self.is_complete,
        }


def generate_rules(
    target: Path,
    *,
    seed: int = 0,
    minutes: float = 30.0,
    progress: Callable[[str], None] = lambda _: None,
    worlds: tuple[Vocabulary, ...] = VOCABULARIES,
) -> GeneratedRules:
    """Find rules and write a table of them.

    When time is up the table has what was found so far, the journal stays, and the next call goes
    on with the world in which it ended.
    """
    journal = target.with_name(target.name + ".journal")
    key = sha256(f"{seed} {worlds!r}".encode()).hexdigest()
    done = _read_journal(journal, key)
    begin = time.monotonic() - sum(record["seconds"] for record in done.values())
    end = time.monotonic() + 60 * minutes
    rules: list[Rule] = []
    is_whole = True
    for world in worlds:
        if world.name not in done:
            if time.monotonic() > end:
                is_whole = False
                break
            start = time.monotonic()
            entry = _generate_from(world, rules, seed, progress, end)
            if time.monotonic() > end:
                is_whole = False
                rules += parse_rules(entry["rules"])
                break
            entry["seconds"] = time.monotonic() - start
            done[world.name] = entry
            write_atomically(journal, json.dumps({"key": key, "done": done}).encode())
        rules += parse_rules(done[world.name]["rules"])
    kept = prune_rules(rules, seed, progress)
    made = GeneratedRules(
        kept,
        sum(record["terms"] for record in done.values()),
        sum(record["equations"] for record in done.values()),
        time.monotonic() - begin,
        is_whole,
    )
    lines = table_header(seed, made.terms, made.equations, kept, made.seconds, is_whole)
    write_atomically(target, (lines + rules_table(kept)).encode())
    if is_whole:
        journal.unlink(missing_ok=True)
    return made


def _generate_from(
    world: Vocabulary,
    rules: list[Rule],
    seed: int,
    progress: Callable[[str], None],
    deadline: float,
) -> dict[str, Any]:
    def is_late() -> bool:
        return time.monotonic() > deadline

    terms = enumerate_terms(world, seed)
    if world.requires_shared_input:
        result = two_source_rules(world, terms, seed, progress, is_late)
    else:
        result = one_source_rules(world, terms, rules, seed, progress, is_late)
    return {
        "rules": rules_text(result),
        "terms": terms.count,
        "equations": len(terms.candidates),
    }


def _read_journal(journal: Path, key: str) -> dict[str, Any]:
    """Return what a journal says, if it is of the same seed and worlds."""
    try:
        document = json.loads(journal.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return dict(document["done"]) if document.get("key") == key else {}
