"""Lists of steps: groups lose none, the nearest are legal, and so is every repair."""

from pathlib import Path

import numpy as np
import pytest

from polygym.text_interface.step_lists import (
    grouped_text,
    nearest_steps,
    repair_text,
    repairs,
)
from polygym.transformations.candidates import candidate_steps, legal_steps
from polygym.transformations.parsing import parse_step
from polygym.transformations.state import IllegalStepError
from polygym.transformations.tree_steps import UnavailableStepError
from tests.text_interface.sessions import session_of, stencil_session
from tests.transformations.by_force import walk_states


def expanded(text: str) -> list[str]:
    """Return the steps of groups."""
    steps = []
    for line in text.splitlines():
        keyword, colon, entries = line.partition(": ")
        if not colon:
            steps.append(keyword)
            continue
        for entry in entries.split("; "):
            head, _, tails = entry.partition(" ") if keyword == "split" else ("", "", entry)
            words = tails.split(" ")
            first = next((k for k, word in enumerate(words) if "|" in word), len(words))
            if first == len(words) or keyword == "split":
                steps += [
                    " ".join(filter(None, (keyword, head, tail))) for tail in tails.split("|")
                ]
                continue
            names = [k for k, word in enumerate(words) if word[0] in "LS" and word[1:2].isdigit()]
            start = names[-1] + 1
            before, alternatives = words[:start], " ".join(words[start:]).split("|")
            steps += [" ".join([keyword, *before, tail]) for tail in alternatives]
    return steps


@pytest.mark.parametrize("program", ["gemm", "jacobi-2d", "lu"])
def test_groups_have_every_legal_step(program: str) -> None:
    for state in walk_states(session_of(program).state, np.random.default_rng(4), 3):
        steps = [step for step, _ in legal_steps(state)]
        assert sorted(expanded(grouped_text(steps))) == sorted(map(str, steps))


def test_repairs_and_the_nearest_steps_are_legal(tmp_path: Path) -> None:
    state = stencil_session(tmp_path).state
    count = 0
    for step in candidate_steps(state):
        near = nearest_steps(step, [legal for legal, _ in legal_steps(state)])
        assert all(state.verdicts([other])[0].is_allowed for other in near)
        try:
            state.after(step)
        except IllegalStepError:
            for repair in repairs(state, step):
                after = state
                for part in repair:
                    after = after.after(part)
                count += 1
        except UnavailableStepError:
            continue
    assert count


def test_a_stencil_is_repaired_by_a_skew(tmp_path: Path) -> None:
    state = stencil_session(tmp_path).state
    (first, *_) = repairs(state, parse_step("tile L1 L2 8 8"))
    assert repair_text(first) == "skew L2 L1 1, then tile L1 L2 8 8"


def test_a_fusion_is_repaired_by_a_shift() -> None:
    state = session_of("jacobi-1d").state
    (first, *_) = repairs(state, parse_step("fuse L2 L3"))
    assert repair_text(first) == "fuse L2 L3 shift 1"
