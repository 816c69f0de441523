"""Mutants come from their seed, differ from what they were, and none computes something else."""

import mutants
import numpy as np
import pytest


def test_mutants_come_from_their_seed() -> None:
    region = mutants.originals()[0].region
    dice = [np.random.default_rng([0, number]) for number in (1, 1, 2)]
    one, same, other = (mutants.mutated(region, each) for each in dice)
    assert one == same
    assert len({region, one, other}) == 3


@pytest.mark.parametrize("change", dict.fromkeys(mutants.CHANGES))
def test_every_change_changes(change: mutants.Change) -> None:
    region = mutants.originals()[0].region
    found = {change(region, np.random.default_rng(seed)) for seed in range(5)}
    assert found - {region}
    assert change("\n", np.random.default_rng(0)) in ("", "\n", "\n\n")


def test_a_few_are_played() -> None:
    found = mutants.play(0, range(12))
    assert [one.number for one in found] == list(range(12))
    assert {one.status for one in found} == {"ok", "refused"}
    assert all(one.detail for one in found if one.status == "refused")


def test_what_is_wrong_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Gcc is given another text than ours, as if one of both were wrong."""
    plain = mutants.compile_foreign

    def other(name: str, program: mutants.Program, threads: int) -> object:
        path = mutants.Path(program.scop.file)
        text = path.read_text()
        path.write_text(text.replace("0.75", "0.5"))
        try:
            return plain(name, program, threads)
        finally:
            path.write_text(text)

    original = next(one for one in mutants.originals() if "0.75" in one.region)
    monkeypatch.setattr(mutants, "originals", lambda: (original,))
    monkeypatch.setattr(mutants, "mutated", lambda region, _: region)
    assert mutants.play(0, range(1))[0].status == "ok"
    monkeypatch.setattr(mutants, "compile_foreign", other)
    found = mutants.play(0, range(1))[0]
    assert found.status == "wrong output"
    assert "gcc" in found.detail
