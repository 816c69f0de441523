"""Programs changed before there are schedules of them: given, found, chosen by a model."""

from __future__ import annotations

import json
from typing import Any

import pytest

from polybench import Dataset
from polygym.compiler.storage.plan import parse_storage
from polygym.episodes import recipes
from polygym.episodes.recipes import (
    AS_WRITTEN,
    Found,
    Recipe,
    parse_cuts,
    parse_plan,
    recipe_from_json,
)
from polygym.errors import InputError, LimitError
from polygym.programs import Program, load_program

AUTO = "S0:temp2=expand:i,j contract"


@pytest.fixture(scope="module")
def symm() -> Program:
    return load_program("symm", dataset=Dataset.MINI)


@pytest.mark.parametrize(
    "recipe",
    [
        AS_WRITTEN,
        Recipe(Found.AUTO, Found.MODEL, 5),
        Recipe(parse_cuts("S0: i = 0"), parse_plan("temp2=expand:i contract")),
        Recipe(parse_cuts("none"), parse_plan("auto")),
    ],
    ids=str,
)
def test_what_is_written_is_read(recipe: Recipe) -> None:
    assert recipe_from_json(json.loads(json.dumps(recipe.to_json()))) == recipe
    assert recipe_from_json(recipe.words()) == recipe


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"storage": "w=grow"}, "expected one of rename, expand"),
        ({"storage": "p=dead auto"}, "storage: expected auto alone, found 'p=dead auto'"),
        ({"split": "S0"}, "a splitting: expected a statement"),
        ({"storage_limit": -1}, "storage_limit: expected a number of bytes, found -1"),
        ({"split": "model"}, "a splitting: expected a statement"),
    ],
)
def test_what_is_no_recipe_is_refused(data: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        recipe_from_json(data)


def test_given_and_found_changes(symm: Program) -> None:
    assert AS_WRITTEN.of(symm) is symm
    assert str(Recipe(plan=Found.AUTO).of(symm).storage) == AUTO
    given = Recipe(parse_cuts("S0: i = 0"), parse_storage("temp2=rename")).of(symm)
    assert (str(given.splitting), str(given.storage)) == ("S0: i = 0", "temp2=rename")
    assert given.written == symm.scop
    assert Recipe(plan=Found.AUTO, limit=7).of(symm).storage.keeps
    with pytest.raises(InputError, match="expected at most 7 bytes for new arrays"):
        Recipe(plan=parse_storage("temp2=expand"), limit=7).of(symm)


def test_what_takes_too_long_to_find_stays(symm: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    def gives_up(*_: object) -> None:
        raise LimitError("too long")

    for name in ("splitting_within", "with_chosen_storage"):
        monkeypatch.setattr(recipes, name, gives_up)
    assert Recipe(Found.AUTO, Found.AUTO).of(symm).scop == symm.scop
