"""A model as onnxruntime would run it, from the ONNX file that polygym writes of it."""

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from polygym.errors import InputError
from polygym.graphs.ir.model import Model


def as_onnxruntime(model: Model, threads: int = 1) -> Callable[[Sequence[Any]], list[Any]]:
    """Return a function of a list of arrays that returns the list of results.

    Raises:
        InputError: onnxruntime is not installed.
    """
    try:
        import onnxruntime
    except ImportError:
        raise InputError("expected onnxruntime, found none: pip install onnxruntime") from None
    from polygym.graphs.onnx import write

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    # Threads that wait for the next call would take the processor from who is timed in between.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.log_severity_level = 3
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.onnx"
        write(model, path)
        session = onnxruntime.InferenceSession(
            str(path), options, providers=["CPUExecutionProvider"]
        )
    names = [input_.name for input_ in session.get_inputs()]

    def run(arguments: Sequence[Any]) -> list[Any]:
        result: list[Any] = session.run(None, dict(zip(names, arguments, strict=True)))
        return result

    return run
