"""Calls the study's command as a shell would."""

import sys

import cost
import pytest


def run(monkeypatch: pytest.MonkeyPatch, *words: str) -> int:
    """Return the exit code of ``python benchmarks/cost.py`` with these words."""
    monkeypatch.setattr(sys, "argv", ["cost.py", *words])
    return cost.main()
