"""Programs changed before there are schedules of them: given, found, chosen by a model."""

from __future__ import annotations

import json
from typing import Any

import pytest

from polybench import Dataset
from polygym.autoschedule import program_recipes
from polygym.autoschedule.program_recipes import (
    UNCHANGED,
    DefaultSource,
    ProgramRecipe,
    parse_splitting_choice,
    parse_storage_choice,
    recipe_from_json,
)
from polygym.errors import InputError, LimitError
from polygym.poly.transform.storage.plan import parse_storage
from polygym.programs import Program, load_program

AUTO = "S0:temp2=expand:i,j contract"


@pytest.fixture(scope="module")
def symm() -> Program:
    return load_program("symm", dataset=Dataset.MINI)


@pytest.mark.parametrize(
    "recipe",
    [
        UNCHANGED,
        ProgramRecipe(DefaultSource.AUTO, DefaultSource.MODEL, 5),
        ProgramRecipe(
            parse_splitting_choice("S0: i = 0"), parse_storage_choice("temp2=expand:i contract")
        ),
        ProgramRecipe(parse_splitting_choice("none"), parse_storage_choice("auto")),
    ],
    ids=str,
)
def test_what_is_written_is_read(recipe: ProgramRecipe) -> None:
    assert recipe_from_json(json.loads(json.dumps(recipe.to_json()))) == recipe
    assert recipe_from_json(recipe.to_entries()) == recipe


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
    assert UNCHANGED.apply(symm) is symm
    assert str(ProgramRecipe(storage=DefaultSource.AUTO).apply(symm).storage) == AUTO
    given = ProgramRecipe(parse_splitting_choice("S0: i = 0"), parse_storage("temp2=rename")).apply(
        symm
    )
    assert (str(given.splitting), str(given.storage)) == ("S0: i = 0", "temp2=rename")
    assert given.as_written == symm.scop
    assert ProgramRecipe(storage=DefaultSource.AUTO, storage_limit=7).apply(symm).storage.is_source
    with pytest.raises(InputError, match="expected at most 7 bytes for new arrays"):
        ProgramRecipe(storage=parse_storage("temp2=expand"), storage_limit=7).apply(symm)


def test_what_takes_too_long_to_find_stays(symm: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    def gives_up(*_: object) -> None:
        raise LimitError("too long")

    for name in ("splitting_within", "with_default_storage"):
        monkeypatch.setattr(program_recipes, name, gives_up)
    assert ProgramRecipe(DefaultSource.AUTO, DefaultSource.AUTO).apply(symm).scop == symm.scop
