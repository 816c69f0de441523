"""Arguments of the wrong kind or size: refused by name, in the constructor, with advice."""

import json
from inspect import signature
from typing import Any

import numpy as np
import pytest

from polygym.envs.schedule import ExploreEnv, ScheduleEnv
from polygym.errors import InputError
from polygym.mdp.problems.arguments import ARGUMENT_NAMES, check_arguments, check_integer

WRONG: dict[str, tuple[object, ...]] = {
    "kernel": (None, 3, b"mvt", ["mvt"], "", " , ", "gemmm", "zz*", "nowhere/*.c", "a\0b.c", "/"),
    "dataset": (None, 3, "huge", ["mini"], ""),
    "parameters": (3, [1], ("n", 3), {"n": 1.5}, {"n": None}, {"n": True}, {"n": "x"}, "n", "n=1,"),
    "function": (3, ["f"], b"f", "", "  "),
    "max_coefficient": ("x", "2", None, 2.0, True, 0, -1, 1001, float("nan")),
    "max_dimensions": ("x", None, 2.5, True, 0, 33, 10**30),
    "max_rays": ("x", None, 2.5, True, 0, 100_001),
    "max_vertices": ("x", None, 2.5, False, 0, 100_001),
    "reward": (None, 1, "fame", ["static"]),
    "threads": ("2", None, 2.0, True, 0, 1025),
    "timeout_factor": ("x", None, True, 0.5, float("nan"), float("inf"), 10**400, 1j),
    "policy": (None, 3, ["uniform"], "luck"),
    "seed": ("x", -1, 1.5, True),
    "render_mode": (3, [], "human"),
    "remeasure": (None, 3, True, "sometimes"),
}


@pytest.mark.parametrize("name", WRONG)
def test_each_argument_is_refused_by_its_name(name: str) -> None:
    for value in WRONG[name]:
        arguments: dict[str, Any] = {name: value}
        with pytest.raises(InputError) as caught:
            ScheduleEnv(**arguments)
        message = str(caught.value)
        assert name in message, (value, message)
        assert "expected" in message or "did you mean" in message, (value, message)


def test_a_misspelt_kernel_gets_a_suggestion() -> None:
    with pytest.raises(InputError, match=r"did you mean.*gemm"):
        ScheduleEnv(kernel="gemmm")


def test_an_infinite_size_is_refused() -> None:
    with pytest.raises(InputError, match=r"parameters: expected an integer for n, found inf"):
        ScheduleEnv(parameters={"n": float("inf")})  # type: ignore[dict-item]


def test_unknown_arguments_are_refused() -> None:
    with pytest.raises(TypeError, match="kernle"):
        ScheduleEnv(kernle="mvt")  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"parameters": {"qq": 5}}, "parameters: expected those of mvt, n, found qq$"),
        ({"parameters": "n=30,m=3"}, "parameters: expected those of mvt, n, found m$"),
        ({"parameters": {"n": -5}}, "n = -5"),
        ({"parameters": {"n": 10**30}}, "n = 1000"),
        ({"function": "nothing"}, "nothing"),
    ],
)
def test_what_only_the_program_can_refuse_is_refused_by_the_reset(
    arguments: dict[str, Any], message: str
) -> None:
    env = ScheduleEnv("mvt", reward="static", **arguments)
    with pytest.raises(InputError, match=message):
        env.reset()


def test_the_names_are_those_of_the_constructor() -> None:
    taken = set(signature(ExploreEnv.__init__).parameters) - {"self", "render_mode", "remeasure"}
    assert taken == set(ARGUMENT_NAMES)
    own = set(signature(ScheduleEnv.__init__).parameters) - {"self", "kernel", "others"}
    assert own == {"storage", "storage_limit"}
    for env in (ExploreEnv, ScheduleEnv):
        played = env("mvt", reward="static", dataset="mini")
        played.reset()
        assert set(played.export()["arguments"]) == taken


@pytest.mark.parametrize("name", WRONG)
def test_they_are_checked_without_an_environment_too(name: str) -> None:
    usual = {key: signature(ExploreEnv).parameters[key].default for key in ARGUMENT_NAMES}
    check_arguments(usual)
    if name in ("kernel", "render_mode", "remeasure"):
        return  # that there is such a file is for who opens it
    for value in WRONG[name]:
        with pytest.raises(InputError, match=name.removeprefix("render_")):
            check_arguments({**usual, name: value})


def test_integers_of_numpy_are_integers() -> None:
    assert type(check_integer("threads", np.int32(2))) is int
    three: Any = np.int64(3)
    env = ExploreEnv("mvt", max_coefficient=three, seed=three, reward="static", dataset="MINI")
    assert env.action_space.n == 4
    env.reset()
    again = json.loads(json.dumps(env.export()))["arguments"]
    assert (again["max_coefficient"], again["seed"], again["dataset"]) == (3, 3, "mini")


def test_sizes_as_text_and_as_mapping_are_the_same() -> None:
    programs = []
    for parameters in ({"n": 30}, "n=30", " n = 30 ", "n=0x1e", {"n": "30"}, {"n": 30.0}):
        env = ScheduleEnv("mvt", reward="static", parameters=parameters)  # type: ignore[arg-type]
        env.reset()
        programs.append(env.export()["program"])
    assert programs[0]["parameters"] == {"n": 30}
    assert all(program == programs[0] for program in programs)
