"""Text sessions for the tests: small programs, scored without a clock unless they say so."""

from pathlib import Path

from polybench import Dataset
from polygym.mdp.problems.loading import ProgramSource
from polygym.mdp.rewards import RewardKind
from polygym.text_interface.session import Budget, SessionOptions, TextSession, open_session

STENCIL = """
void heat(int m, int n, double A[n]) {
#pragma scop
  for (int t = 0; t < m; t++)
    for (int i = 1; i < n - 1; i++)
      A[i] = 0.3 * (A[i - 1] + A[i] + A[i + 1]);
#pragma endscop
}
"""


def session_of(
    target: str | Path,
    *,
    reward: str = "static",
    budget: Budget | None = None,
    parameters: tuple[tuple[str, int], ...] = (),
) -> TextSession:
    """Return a session of a program at MINI sizes."""
    options = SessionOptions(RewardKind(reward), budget=budget or Budget())
    source = ProgramSource(str(target), None, Dataset.MINI, parameters)
    return open_session(source, options)


def stencil_session(folder: Path, **options: object) -> TextSession:
    """Return a session of a stencil over time, whose loops can be tiled after a skew only."""
    file = folder / "heat.c"
    file.write_text(STENCIL)
    return session_of(file, **options)  # type: ignore[arg-type]
