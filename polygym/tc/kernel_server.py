"""The process that compiles kernels for sizes that are used often, one after the other.

A request is a pickled definition with its options and sizes, in the pickled form in which a
program's own child gets it. What is made is kept in the cache, where there is one, so that it is
there next time, even if the program ends before the answer. The process is as polite as the kernel
lets it be, and ends with the one that started it.
"""

import os
import pickle
import socket
import sys
from typing import NoReturn

from polygym.errors import PolygymError
from polygym.mapping.mapping import parse_mapping
from polygym.poly.scheduling.strategy import parse_strategy
from polygym.runtime.evaluation.compile_server import serve_watched
from polygym.runtime.worker.job_messages import Channel, ChannelClosedError
from polygym.tc.builder import BuildOptions, KernelBuilder

_NICENESS = 10


def main(descriptor: int, parent: int) -> None:
    """Serve the process ``parent``, which holds the other end of the socket."""
    serve_watched(descriptor, parent, _compile)


def _compile(descriptor: int) -> NoReturn:
    """Answer requests until the other side hangs up."""
    os.nice(_NICENESS)
    channel = Channel(socket.socket(fileno=descriptor))
    try:
        channel.send({"ready": os.getpid()})
        while True:
            _, (request,) = channel.receive()
            definition, mapping, strategy, sizes = pickle.loads(request)
            options = BuildOptions(parse_strategy(strategy), parse_mapping(mapping))
            try:
                kernel = KernelBuilder(definition, options).kernel(sizes)
                channel.send({}, [kernel.object_code, kernel.recipe.encode()])
            except (PolygymError, RecursionError, MemoryError) as error:
                channel.send({"error": str(error)})
    except ChannelClosedError:
        sys.exit(0)
