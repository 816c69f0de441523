"""A program as code for GPUs: PTX, machine code or CUDA C++, and what the host has to launch.

No GPU is needed. ``F.ptx`` runs on GPUs of its architecture and later ones, which their driver
assembles it for; ``F.cubin`` on those of one architecture. ``F.json`` has the kernels with their
arguments, and the launches with grids as functions of the sizes.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any, assert_never

from polygym.codegen.contraction import legal_with_storage
from polygym.codegen.loopir.ir import Index, IndexConstant
from polygym.codegen.loopir.python_text import python_text
from polygym.errors import InputError
from polygym.files import create_folder, write_atomically
from polygym.gpu.device_program import DeviceProgram, HostGuard, HostLoop, HostNode, Launch
from polygym.gpu.mapping.device_mapping import DeviceMapping
from polygym.gpu.mapping.device_model import model_for
from polygym.gpu.mapping.pipeline import map_to_device
from polygym.gpu.ptx.compile_ptx import DEFAULT_ARCHITECTURE, DeviceCode, compile_ptx
from polygym.gpu.ptx.cuda_text import cuda_text
from polygym.gpu.ptx.emit_device import launched_kernels
from polygym.gpu.ptx.ptxas import AssembledCode, assemble
from polygym.mapping.sizes import Sizes
from polygym.pickling import pickle_by_name
from polygym.poly.schedule import Schedule
from polygym.programs.program import Program


class DeviceExportKind(Enum):
    """The forms in which code for a GPU is written."""

    PTX = "ptx"
    CUBIN = "cubin"
    CUDA = "cuda"


_SUFFIXES = {
    DeviceExportKind.PTX: ".ptx",
    DeviceExportKind.CUBIN: ".cubin",
    DeviceExportKind.CUDA: ".cu",
}


@pickle_by_name
@dataclass(frozen=True, slots=True)
class DeviceExport:
    """Kernels of a program with a schedule, ready to be written.

    ``assembled`` is the machine code, None where a text was asked for.
    """

    function: str
    kind: DeviceExportKind
    mapping: DeviceMapping
    program: DeviceProgram
    code: DeviceCode
    assembled: AssembledCode | None

    def code_bytes(self) -> bytes:
        """Return what the file of the code contains."""
        if self.assembled is not None:
            return self.assembled.cubin
        if self.kind is DeviceExportKind.CUDA:
            return cuda_text(self.program, f"{self.function}: {self.mapping}").encode()
        return self.code.ptx.encode()

    def launch_text(self) -> str:
        """Return the kernels and the launches as JSON."""
        resources = dict(self.assembled.resources) if self.assembled is not None else {}
        kernels = [
            {
                "name": kernel.name,
                "block": list(kernel.block),
                "shared_bytes": kernel.shared,
                "arguments": [
                    *({"array": name} for name in kernel.arrays),
                    *({"int64": name} for name in kernel.variables),
                    *([{"note": "uint32"}] if kernel.takes_note else []),
                ],
                **(
                    {"registers": resources[kernel.name].registers}
                    if kernel.name in resources
                    else {}
                ),
            }
            for kernel in self.code.kernels
        ]
        document = {
            "function": self.function,
            "architecture": self.code.architecture,
            "mapping": str(self.mapping),
            "sizes": dict(self.program.program.sizes or ()),
            "fallback": self.program.fallback,
            "kernels": kernels,
            "host": _host_json(self.program.body),
        }
        return json.dumps(document, indent=2) + "\n"


def export_device(
    program: Program,
    schedule: Schedule,
    mapping: DeviceMapping,
    kind: DeviceExportKind,
    *,
    sizes: Sizes | None = None,
    name: str | None = None,
    architecture: str = DEFAULT_ARCHITECTURE,
) -> DeviceExport:
    """Return the kernels of a program, for all sizes or for given ones.

    Raises:
        InputError: a function is none of a GPU's, or there is no assembler for machine code.
        IllegalScheduleError: the schedule is not legal.
    """
    legal = legal_with_storage(program.storage, program.scop, schedule)
    device = map_to_device(legal, mapping, sizes, model_for(architecture))
    code = compile_ptx(device, architecture)
    assembled = None
    if kind is DeviceExportKind.CUDA and any(
        kernel.atomic for kernel, _ in launched_kernels(device.body)
    ):
        raise InputError(
            f"{mapping}: expected --kind ptx or cubin, found cuda: updates are atomic there alone"
        )
    match kind:
        case DeviceExportKind.PTX | DeviceExportKind.CUDA:
            pass
        case DeviceExportKind.CUBIN:
            assembled = assemble(code)
        case _:
            assert_never(kind)
    return DeviceExport(name or program.scop.name, kind, mapping, device, code, assembled)


def write_device_export(export: DeviceExport, out: Path) -> tuple[Path, ...]:
    """Write the code and the text of the launches into a folder.

    Raises:
        InputError: the folder cannot be written to.
    """
    create_folder(out)
    code = (out / f"{export.function}{_SUFFIXES[export.kind]}", export.code_bytes())
    text = (out / f"{export.function}.json", export.launch_text().encode())
    try:
        for path, contents in (code, text):
            write_atomically(path, contents)
    except OSError as error:
        raise InputError(f"--out {out}: cannot be written to: {error.strerror}") from None
    return code[0], text[0]


def _host_json(body: Sequence[HostNode]) -> list[dict[str, Any]]:
    """Return what the host does as plain data; indices are numbers or texts of Python."""

    def text(index: Index) -> int | str:
        return index.value if isinstance(index, IndexConstant) else python_text(index, str)

    result: list[dict[str, Any]] = []
    for node in body:
        match node:
            case Launch(kernel):
                result.append({"launch": kernel.name, "grid": [text(own) for own in kernel.grid]})
            case HostLoop(variable, lower, upper, step, inside):
                bounds = {"first": text(lower), "last": text(upper), "step": step}
                result.append({"for": variable, **bounds, "body": _host_json(inside)})
            case HostGuard(condition, inside):
                result.append({"if": text(condition), "body": _host_json(inside)})
            case _:
                assert_never(node)
    return result
