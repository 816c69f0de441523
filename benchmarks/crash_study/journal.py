"""The lines of all runs, and for each that fails a file with its schedule."""

from __future__ import annotations

import collections
import json
import os
import sys
from pathlib import Path
from typing import Any

from crash_study.cases import CrashRun


class CrashJournal:
    """The lines of all runs; a case is done when its line says so."""

    def __init__(self, folder: Path | None, setting: dict[str, Any], *, resume: bool) -> None:
        self.folder = folder
        self.done: set[int] = set()
        self.counts: collections.Counter[str] = collections.Counter()
        self.bad: list[CrashRun] = []
        self.file = None
        if folder is None:
            return
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / "journal.jsonl"
        if path.exists():
            if not resume:
                sys.exit(f"{path} exists: --resume goes on with it")
            self._read(path, setting)
            self.file = path.open("a")
        else:
            self.file = path.open("w")
            self._write(json.dumps({"setting": setting}))

    def _read(self, path: Path, setting: dict[str, Any]) -> None:
        """Count what is there, but for what belongs to a case that was not finished."""
        whole, end = [], 0
        with path.open("rb") as file:
            for line in file:
                try:
                    whole.append(json.loads(line))
                except ValueError:
                    break  # a line cut off
                end += len(line)
        os.truncate(path, end)
        if not whole or whole[0].get("setting") != setting:
            sys.exit(f"{path}: expected the setting {setting}, found {whole[:1]}")
        self.done = {entry["done"] for entry in whole if "done" in entry}
        for entry in whole:
            if entry.get("case") in self.done:
                self.counts[entry["status"]] += 1

    def add(self, run: CrashRun) -> None:
        """Count a run and write it down."""
        self.counts[run.status] += 1
        self._write(run.line())
        if run.is_bad:
            self.bad.append(run)
            self._report(run)

    def finish(self, case: int) -> None:
        """Note that all runs of a case are there."""
        self.done.add(case)
        self._write(json.dumps({"done": case}))

    def _write(self, line: str) -> None:
        if self.file is not None:
            self.file.write(line + "\n")
            self.file.flush()

    def _report(self, run: CrashRun) -> None:
        name = f"{run.kernel}-{run.case}-{run.number}"
        print(
            f"\n{run.status.upper()}: case {run.case}, {run.kernel} {run.dataset} under "
            f"{run.mapping}: {run.detail}\n  {run.schedule}",
            flush=True,
        )
        if self.folder is not None and run.schedule:
            (self.folder / f"{name}.isl").write_text(f"{run.schedule}\n")
            (self.folder / f"{name}.sh").write_text(
                f"polygym run {run.kernel} --dataset {run.dataset} --mapping '{run.mapping}' "
                f'--schedule "$(cat {name}.isl)"\n'
            )
