"""The process in which code is generated, at the other end of :mod:`polygym.evaluation.compiler`.

It answers one request at a time: a pickled program comes with it, by which the server remembers
what it unpickled, and the pickled result goes back. (Pickles pass only between a process and the
child that it started itself.) Failures that are answers, a schedule that is too irregular say, go
back as a type and a message; what else fails ends the process.

The server ends with its parent. Memory that isl and LLVM do not give back is its own: it says how
much it has, and the other side replaces it when that is too much.
"""

from __future__ import annotations

import os
import pickle
import resource
import signal
import socket
import sys
from collections.abc import Callable
from pathlib import Path

from polygym.codegen.c_printer import print_c
from polygym.codegen.mapping import Mapping
from polygym.codegen.pipeline import lower
from polygym.errors import InputError, PolygymError
from polygym.measure.channel import Channel, ChannelClosedError
from polygym.measure.job import Json
from polygym.measure.runner import die_with
from polygym.poly.legality import LegalSchedule
from polygym.poly.schedule import parse
from polygym.programs import Program
from polygym.programs.compiling import compile_problem, compile_schedule

# isl and LLVM need some hundred megabytes; a schedule for which they ask more than this has failed.
_MOST_MEMORY = 8 * 2**30


def main(descriptor: int, parent: int) -> None:
    """Be a compile server for the process ``parent``, which holds the other end of the socket."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle
    die_with(parent)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    _, most = resource.getrlimit(resource.RLIMIT_AS)
    limit = _MOST_MEMORY if most == resource.RLIM_INFINITY else min(_MOST_MEMORY, most)
    resource.setrlimit(resource.RLIMIT_AS, (limit, most))
    channel = Channel(socket.socket(fileno=descriptor))
    try:
        channel.send({"ready": os.getpid()})
        _serve(channel)
    except ChannelClosedError:
        sys.exit(0)


def _serve(channel: Channel) -> None:
    programs: dict[bytes, Program] = {}
    while True:
        body, blobs = channel.receive()
        packed = blobs[0]
        if packed not in programs:
            programs = dict(list(programs.items())[-7:])
            programs[packed] = pickle.loads(packed)
        answer, result = _answer(body, programs[packed])
        channel.send({**answer, "resident": _resident_bytes()}, result)


def _answer(body: Json, program: Program) -> tuple[Json, list[bytes]]:
    """Do what is asked, and say how it failed if it did."""
    try:
        return {}, [pickle.dumps(_TASKS[body["task"]](program, body))]
    except MemoryError:
        return {"error_type": "MemoryError", "error": "generating code took too much memory"}, []
    except RecursionError:
        return {"error_type": "RecursionError", "error": "the code nests too deeply"}, []
    except PolygymError as error:
        is_input = isinstance(error, InputError)
        return {"error_type": type(error).__name__, "error": str(error), "input": is_input}, []


def _compile_schedule(program: Program, body: Json) -> object:
    mapping = Mapping(**body["mapping"])
    return compile_schedule(program, parse(body["schedule"], program.scop), mapping)


def _compile_problem(program: Program, body: Json) -> object:
    return compile_problem(program)


def _print_c(program: Program, body: Json) -> object:
    legal = LegalSchedule(program.scop, parse(body["schedule"], program.scop))
    return print_c(lower(legal, Mapping(**body["mapping"])))


_TASKS: dict[str, Callable[[Program, Json], object]] = {
    "schedule": _compile_schedule,
    "problem": _compile_problem,
    "c": _print_c,
}


def _resident_bytes() -> int:
    """Return how much memory this process holds."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")
