"""The command, run in the process of the tests."""

import json
from typing import Any

import pytest

from polygym.cli import dispatch as cli


def call(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    """Run the command in this process; return exit code, standard output, standard error."""
    code = cli.run(list(arguments))
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def call_json(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, Any]:
    code, out, _ = call(capsys, *arguments, "--json")
    return code, json.loads(out)
