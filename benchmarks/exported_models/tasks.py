"""One task in a process of its own: a model exported, checked, optimized, or timed.

The task comes as JSON, its row goes to standard output as the last line.
"""

from __future__ import annotations

import contextlib
import json
import sys
from pathlib import Path
from typing import Any


def _export(out: Path, task: dict[str, Any]) -> dict[str, Any]:
    from benchmarks.exported_models.exporting import export_file, write_example
    from benchmarks.exported_models.public_models import example

    made = example(task["model"])
    if not (out / f"{task['model']}.npz").exists():
        write_example(made.module, made.inputs, out / f"{task['model']}.npz")
    path = _onnx_file(out, task["model"], task["exporter"])
    problem = export_file(made.module, made.inputs, path, task["exporter"])
    return {"status": "failed" if problem else "ok", "message": problem}


def _check(out: Path, task: dict[str, Any]) -> dict[str, Any]:
    from benchmarks.exported_models.acceptance import check_file
    from benchmarks.exported_models.exporting import read_example

    path = _onnx_file(out, task["model"], task["exporter"])
    if not path.exists():
        return {"status": "not exported", "message": ""}
    inputs, expected = read_example(out / f"{task['model']}.npz")
    return check_file(path, inputs, expected, task["threads"])


def _optimize(out: Path, task: dict[str, Any]) -> dict[str, Any]:
    from benchmarks.exported_models.acceptance import check_file, optimize_file
    from benchmarks.exported_models.exporting import read_example

    folder = _folder(out, task)
    path = _timed_file(out, task["model"])
    report = optimize_file(path, folder, task["costs"], task["threads"], 1700.0)
    inputs, expected = read_example(out / f"{task['model']}.npz")
    row = check_file(folder, inputs, expected, task["threads"])
    row["optimize_seconds"] = report["cpu"]["seconds"]
    return row | {key: report[key] for key in ("initial_cost", "cost", "changed")}


def _time(out: Path, task: dict[str, Any]) -> dict[str, Any]:
    from benchmarks.exported_models.timing import time_model

    folder: Path | None = _folder(out, task)
    if folder is None or not folder.exists():
        folder = None
    path = _timed_file(out, task["model"])
    return time_model(task["model"], path, folder, task["threads"], task["seconds"], 101)


def _modules(out: Path, task: dict[str, Any]) -> dict[str, Any]:
    from benchmarks.exported_models.block_modules import check_module

    return check_module(task["model"], task["exporter"], task["threads"])


def _onnx_file(out: Path, model: str, exporter: str) -> Path:
    return out / f"{model}-{exporter}.onnx"


def _timed_file(out: Path, model: str) -> Path:
    """Return the file of the exporter that traces, or that of the other where it has none."""
    path = _onnx_file(out, model, "old")
    return path if path.exists() else _onnx_file(out, model, "new")


def _folder(out: Path, task: dict[str, Any]) -> Path:
    """Return where the optimized model is; measured costs are those of a number of threads."""
    threads = "" if task["costs"] == "static" else f"-{task['threads']}"
    return out / f"{task['model']}-{task['costs']}{threads}"


_TASKS = {
    "export": _export,
    "check": _check,
    "optimize": _optimize,
    "time": _time,
    "modules": _modules,
}

if __name__ == "__main__":
    asked = json.loads(sys.argv[1])
    with contextlib.redirect_stdout(sys.stderr):
        row = _TASKS[asked["task"]](Path(asked["out"]), asked)
    print(json.dumps(row))
