"""The compile server: the process that generates code for a compiler.

It answers one request at a time: a pickled program comes with it, by which the server remembers
what it unpickled, and the pickled result goes back. (Pickles pass only between a process and the
child that it started itself.) Failures that are answers, a schedule that is too irregular say, go
back as a type and a message; what else fails ends the process.

The server is two processes, since one call into isl can last for hours and nothing can interrupt
it: the generator answers, and a watcher, which does nothing else, sees the parent end and ends as
well; the kernel then ends the generator. (The kernel could tell the generator of the parent's end
directly, but it takes the end of the *thread* that started a process for the end of the parent.)
The watcher ends as its generator does, by the same signal or with the same status.

Memory that isl and LLVM do not give back is the generator's own: it says how much it has, and the
other side replaces it when that is too much.
"""

import gc
import os
import pickle
import resource
import select
import signal
import socket
import sys
from collections.abc import Callable
from typing import NoReturn

from polygym.codegen.c import print_c
from polygym.codegen.pipeline import lower
from polygym.errors import PolygymError
from polygym.foreign.libc import exit_with_parent
from polygym.mapping.mapping import parse_mapping
from polygym.poly.schedule import parse_schedule
from polygym.programs import Program
from polygym.runtime.evaluation.compilation import (
    compile_problem,
    compile_schedule,
    contracted_schedule,
)
from polygym.runtime.evaluation.compiler import OUT_OF_MEMORY
from polygym.runtime.worker import server_process
from polygym.runtime.worker.job_messages import Channel, ChannelClosedError, Json

# Allocations from one search for garbage, of which there is little, to the next: with Python's own
# 700 generating code takes a sixteenth more.
_COLLECT_AFTER = (20_000, 20, 50)


def main(descriptor: int, parent: int) -> None:
    """Be a compile server for the process ``parent``, which holds the other end of the socket."""
    serve_watched(descriptor, parent, _generate)


def serve_watched(descriptor: int, parent: int, generate: Callable[[int], NoReturn]) -> None:
    """Run a generator in a process of its own until it, or the process ``parent``, ends."""
    watch = server_process.begin_server(parent)
    watcher = os.getpid()
    generator = os.fork()
    if generator == 0:
        exit_with_parent(watcher)
        generate(descriptor)
    os.close(descriptor)
    _exit_like(_wait_for(generator, watch))


def _wait_for(generator: int, watch: server_process.ParentWatch) -> int:
    """Return the exit code of the generator; 0 when the parent ends before it does."""
    poller = select.poll()
    # Where there are no descriptors of processes the loop looks at both from time to time.
    descriptors = watch.descriptors and (os.pidfd_open(generator), *watch.descriptors)
    for descriptor in descriptors:
        poller.register(descriptor, select.POLLIN)
    while True:
        poller.poll(500)
        ended, status = os.waitpid(generator, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        try:
            watch.check()
        except server_process.ParentGoneError:
            return 0


def _exit_like(exit_code: int) -> NoReturn:
    """End as another process did, whose exit code is as ``os.waitstatus_to_exitcode`` has it."""
    if exit_code < 0:
        if -exit_code not in (signal.SIGKILL, signal.SIGSTOP):
            signal.signal(-exit_code, signal.SIG_DFL)
        os.kill(os.getpid(), -exit_code)
    sys.exit(abs(exit_code))


def _generate(descriptor: int) -> NoReturn:
    """Answer requests until the other side hangs up."""
    gc.set_threshold(*_COLLECT_AFTER)
    channel = Channel(socket.socket(fileno=descriptor))
    try:
        channel.send({"ready": os.getpid()})
        _serve(channel)
    except ChannelClosedError:
        sys.exit(0)


def _serve(channel: Channel) -> NoReturn:
    programs: dict[bytes, Program] = {}
    while True:
        body, blobs = channel.receive()
        # Every demand beyond it is refused from now on. What follows depends on who is refused: an
        # exception here, or the end of the process.
        server_process.set_soft_limit(resource.RLIMIT_AS, body["memory"])
        packed = blobs[0]
        if packed not in programs:
            programs = dict(list(programs.items())[-7:])
            programs[packed] = pickle.loads(packed)
        answer, result = _answer(body, programs[packed])
        channel.send({**answer, "resident": server_process.resident_bytes()}, result)


def _answer(body: Json, program: Program) -> tuple[Json, list[bytes]]:
    """Do what is asked, and say how it failed if it did."""
    try:
        return {}, [pickle.dumps(_TASKS[body["task"]](program, body))]
    except MemoryError:
        return {"error_type": OUT_OF_MEMORY, "error": ""}, []
    except RecursionError:
        return {"error_type": "RecursionError", "error": "the code nests too deeply"}, []
    except PolygymError as error:
        return {"error_type": type(error).__name__, "error": str(error)}, []


def _compile_schedule(program: Program, body: Json) -> object:
    mapping = parse_mapping(body["mapping"])
    return compile_schedule(program, parse_schedule(body["schedule"], program.scop), mapping)


def _compile_problem(program: Program, body: Json) -> object:
    return compile_problem(program)


def _print_c(program: Program, body: Json) -> object:
    legal = contracted_schedule(program, parse_schedule(body["schedule"], program.scop))
    loops = lower(legal, parse_mapping(body["mapping"]))
    return print_c(loops, f"{program.scop.name}: {legal.schedule}, {loops.mapping}")


_TASKS: dict[str, Callable[[Program, Json], object]] = {
    "schedule": _compile_schedule,
    "problem": _compile_problem,
    "c": _print_c,
}
