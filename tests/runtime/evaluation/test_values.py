"""Evaluations and options as values: JSON and back, and what is refused."""

import json
from dataclasses import fields

import pytest

from polygym.errors import InputError
from polygym.mapping.mapping import Mapping
from polygym.runtime.evaluation import Evaluation, EvaluationOptions
from polygym.runtime.evaluation.evaluation import MEMORY_VARIABLE
from polygym.runtime.worker.outcome import OutcomeStatus
from tests.runtime.evaluation.programs import gemm, interchanged, plain

GOOD = Evaluation(
    interchanged(),
    OutcomeStatus.OK,
    1.5,
    0.2,
    0.3,
    (0.2, 0.25),
    (0.3, 0.4),
    applied_mapping=Mapping(tile=()),
)
FAILED = [
    Evaluation(plain(), status, baseline_seconds=0.1, error_type="Name", error_details="why")
    for status in OutcomeStatus
    if status is not OutcomeStatus.OK
]


@pytest.mark.parametrize(
    "evaluation", [GOOD, *FAILED], ids=lambda evaluation: evaluation.status.name
)
def test_json_and_back(evaluation):
    text = json.dumps(evaluation.to_json())
    assert Evaluation.from_json(json.loads(text), gemm().scop) == evaluation
    assert list(json.loads(text)) == [field.name for field in fields(Evaluation)]


def test_whole_numbers_are_numbers():
    data = {**GOOD.to_json(), "speedup": 1, "samples": [1]}
    evaluation = Evaluation.from_json(data, gemm().scop)
    assert (evaluation.speedup, evaluation.samples) == (1.0, (1.0,))
    assert isinstance(evaluation.speedup, float)


@pytest.mark.parametrize(
    "changes",
    [
        {"schedule": "not one"},
        {"schedule": "{ S9[i] -> [i] }"},
        {"schedule": None},
        {"status": "excellent"},
        {"status": []},
        {"speedup": None},
        {"speedup": "1.5"},
        {"speedup": True},
        {"speedup": -1.0},
        {"seconds": float("nan")},
        {"seconds": float("inf")},
        {"baseline_seconds": 10**400},
        {"samples": 3},
        {"samples": "12"},
        {"samples": [0.1, None]},
        {"baseline_samples": {"a": 1}},
        {"error_type": 5},
        {"error_details": None},
        {"canonical_key": 7},
    ],
    ids=str,
)
def test_bad_field(changes):
    with pytest.raises(InputError):
        Evaluation.from_json({**GOOD.to_json(), **changes}, gemm().scop)


@pytest.mark.parametrize("name", [field.name for field in fields(Evaluation)])
def test_missing_field(name):
    data = GOOD.to_json()
    del data[name]
    with pytest.raises(InputError, match=name):
        Evaluation.from_json(data, gemm().scop)


@pytest.mark.parametrize("data", [None, 3, "text", [], {}], ids=str)
def test_no_evaluation_at_all(data):
    with pytest.raises(InputError, match="an evaluation in JSON"):
        Evaluation.from_json(data, gemm().scop)


@pytest.mark.parametrize(
    "changes",
    [
        {"threads": 0},
        {"threads": 1.0},
        {"threads": True},
        {"timeout_factor": 0.5},
        {"timeout_factor": float("nan")},
        {"timeout_factor": float("inf")},
        {"compile_seconds": 0.0},
        {"compile_seconds": -1.0},
        {"compile_seconds": float("nan")},
    ],
    ids=str,
)
def test_options_under_which_nothing_can_be_measured(changes):
    (name,) = changes
    with pytest.raises(InputError, match=f"{name}: expected"):
        EvaluationOptions(**changes)


def test_the_memory_of_generating_code_can_be_said(monkeypatch):
    monkeypatch.delenv(MEMORY_VARIABLE, raising=False)
    assert EvaluationOptions().compile_memory == 2 * 2**30
    monkeypatch.setenv(MEMORY_VARIABLE, "512")
    assert EvaluationOptions().compile_memory == 512 * 2**20
    for text in ("much", "-1", "1e3", "9" * 30):
        monkeypatch.setenv(MEMORY_VARIABLE, text)
        with pytest.raises(InputError, match=f"{MEMORY_VARIABLE}: expected a number of megabytes"):
            EvaluationOptions()
    monkeypatch.setenv(MEMORY_VARIABLE, "7")
    with pytest.raises(InputError, match=f"{MEMORY_VARIABLE}: .* megabytes from 512 on, found '7'"):
        EvaluationOptions()
    with pytest.raises(InputError, match="compile_memory: expected at least 536,870,912 bytes"):
        EvaluationOptions(compile_memory=2**20)
