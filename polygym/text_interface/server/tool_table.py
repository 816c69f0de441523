"""Tools with their arguments, as rows of a table and as JSON schemas.

Both protocols offer these tools. Arguments are checked here, before anything is done: unknown ones
are refused by their names, and so are values of another type.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from polybench import Dataset
from polygym.errors import InputError
from polygym.text_interface.commands import Part

_LONGEST_TEXT = 20_000
_LARGEST = 2**53
_MOST_SIZES = 64
_SHOWN = 80

EXPORT_FORMATS = ("transcript", "c", "schedule")


@dataclass(frozen=True, slots=True)
class Argument:
    """An argument of a tool: its JSON type, what it means, and the values that it may have."""

    name: str
    type: str
    meaning: str
    is_required: bool = True
    choices: tuple[str, ...] = ()

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON schema."""
        schema: dict[str, Any] = {"type": self.type, "description": self.meaning}
        if self.choices:
            schema["enum"] = list(self.choices)
        if self.type == "object":
            schema["additionalProperties"] = {"type": "integer"}
        return schema

    def check(self, value: object) -> object:
        """Return a value of the argument.

        Raises:
            InputError: it has another type, or is too large.
        """
        expected, fits = self.type, False
        match self.type:
            case "string":
                fits = isinstance(value, str) and len(value) <= _LONGEST_TEXT
                expected = f"a text of at most {_LONGEST_TEXT} characters"
                if self.choices:
                    fits = fits and value in self.choices
                    expected = f"one of {', '.join(self.choices)}"
            case "integer":
                fits = _is_integer(value) and isinstance(value, int) and value >= 0
                expected = "an integer from 0 on"
            case "number":
                fits = isinstance(value, float | int) and not isinstance(value, bool)
                fits = fits and 0 <= value <= _LARGEST  # type: ignore[operator]
                expected = "a number from 0 on"
            case "object":
                fits = isinstance(value, dict) and len(value) <= _MOST_SIZES
                fits = fits and all(
                    len(key) <= _SHOWN and _is_integer(size)
                    for key, size in value.items()  # type: ignore[attr-defined]
                )
                expected = 'an object of integers, such as {"n": 100}'
        if not fits:
            raise InputError(f"{self.name}: expected {expected}, found {_brief(value)}")
        return value


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool: its name, what it does, its arguments."""

    name: str
    purpose: str
    arguments: tuple[Argument, ...]

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON schema of the arguments."""
        return {
            "type": "object",
            "properties": {argument.name: argument.schema for argument in self.arguments},
            "required": [a.name for a in self.arguments if a.is_required],
            "additionalProperties": False,
        }

    def check(self, arguments: object) -> dict[str, Any]:
        """Return the arguments of a call.

        Raises:
            InputError: one is missing, unknown or wrong.
        """
        if arguments is None:
            arguments = {}
        if not isinstance(arguments, Mapping):
            raise InputError(f"{self.name}: expected an object of arguments, found another value")
        known = {argument.name: argument for argument in self.arguments}
        for name in arguments:
            if name not in known:
                raise InputError(
                    f"{self.name}: expected the arguments {', '.join(known) or 'none'}, found "
                    f"{_brief(name)}"
                )
        result = {}
        for name, argument in known.items():
            if arguments.get(name) is None:
                if argument.is_required:
                    raise InputError(f"{self.name}: expected the argument {name}, found none")
                continue
            result[name] = argument.check(arguments[name])
        return result


def _is_integer(value: object) -> bool:
    return type(value) is int and -_LARGEST <= value <= _LARGEST


def _brief(value: object) -> str:
    """Return a value for a message, without rendering a large one as a whole."""
    if isinstance(value, str):
        return repr(value[:_SHOWN])
    if isinstance(value, bool | float) or value is None or _is_integer(value):
        return repr(value)
    return f"another {type(value).__name__}"


_SESSION = Argument("session", "string", "The session that load has returned, such as s1.")
_STEP = Argument("step", "string", "A step, such as: tile L1 L2 32 32")

TOOLS: tuple[Tool, ...] = (
    Tool(
        "load",
        "Load a program and begin a session. The reply names the session and shows the program: "
        "its loops L1, L2, ..., its statements S0, S1, ..., and its dependences.",
        (
            Argument("program", "string", "A kernel such as gemm, tc:NAME, random:N, or a file."),
            Argument("dataset", "string", "Sizes.", False, tuple(d.name.lower() for d in Dataset)),
            Argument("parameters", "object", "Single sizes over those of the data set.", False),
            Argument("function", "string", "The function in a file with several.", False),
            Argument("threads", "integer", "Threads that the code may use.", False),
            Argument("evaluations", "integer", "Evaluations of the session at most.", False),
            Argument("seconds", "number", "Seconds of the session's work at most.", False),
        ),
    ),
    Tool(
        "show",
        "Show the program with named loops, dependences, schedule, mapping, last outcome, budget.",
        (
            _SESSION,
            Argument("part", "string", "One part.", False, tuple(part.value for part in Part)),
        ),
    ),
    Tool(
        "steps",
        "List the legal steps now, or those of one kind in full.",
        (_SESSION, Argument("kind", "string", "A kind, such as tile.", False)),
    ),
    Tool(
        "transform",
        "Take a step. An illegal one changes nothing; the reply has a counterexample and a repair.",
        (_SESSION, _STEP),
    ),
    Tool("check", "Say whether a step is legal, and change nothing.", (_SESSION, _STEP)),
    Tool(
        "explain",
        "Say why a step is legal or not, and what it would change.",
        (_SESSION, _STEP),
    ),
    Tool(
        "measure",
        "Compile and run the program as it is, beside the source. It costs one evaluation.",
        (_SESSION,),
    ),
    Tool("undo", "Take the last step back.", (_SESSION,)),
    Tool("best", "Show the best program that was measured, and its steps.", (_SESSION,)),
    Tool(
        "export",
        "Return the session as a transcript that `polygym replay` reads, its C code, or its "
        "schedule and mapping.",
        (_SESSION, Argument("format", "string", "The format.", False, EXPORT_FORMATS)),
    ),
    Tool(
        "help",
        "List the steps, or explain one of them.",
        (Argument("command", "string", "A command, such as skew.", False),),
    ),
    Tool("close", "End a session.", (_SESSION,)),
)
"""The tools, in the order of use."""

TOOL_NAMED: dict[str, Tool] = {tool.name: tool for tool in TOOLS}
