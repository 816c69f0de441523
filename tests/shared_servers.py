"""Compile servers that one test has used are lent to the next, since starting one takes 0.6 s.

A server keeps nothing of a request but what it remembers of programs, so who asks next cannot tell.
One is kept only if it is whole, not one that ended, was killed or timed out. Those of another
processor's share (affinity) wait for who has the same. Tests of how compile servers live and die
start their own.

What a server has answered is remembered too, by the whole request: the program, the schedule, the
mapping and the limits. A thousand tests open the same few programs, whose original order would be
compiled a thousand times. Each request is answered by a server once in a run of the tests (in each
of pytest's workers); refusals are asked for again.
"""

from __future__ import annotations

import json
import os
import pickle
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from typing import Any

import pytest

from polygym.programs import Program
from polygym.runtime.evaluation import compiler as module
from polygym.runtime.evaluation.compiler import CompileFailure, Compiler
from polygym.runtime.worker.connection import Connection, OwnedServer
from polygym.runtime.worker.job_messages import Json

_MOST = 2  # of each affinity
_idle: defaultdict[frozenset[int], list[Connection]] = defaultdict(list)
_affinity: dict[int, frozenset[int]] = {}
_MOST_ANSWERS = 1000
_answers: dict[tuple[bytes, str, float], bytes] = {}
_attempt, _start = Compiler._attempt, OwnedServer.connected


def _connected(self: OwnedServer) -> Connection:
    """Return the compiler's server, one that waits, or a new one."""
    if self._module == module._SERVER and (self._connection is None or self._connection.is_closed):
        own = frozenset(os.sched_getaffinity(0))
        self._connection = _waiting(own) or Connection(module._SERVER)
        _affinity[self._connection.process_id] = own
    return _start(self)


def _remembered(self: Compiler, body: Json, program: Program, seconds: float) -> Any:
    """Return what a server answered to the same request, or have one answer it."""
    known = sha256(pickle.dumps(program)).digest()
    key = (known, json.dumps(body, sort_keys=True), seconds)
    if key in _answers:
        self._server.connected()  # a caller has a process, which tests may look at
        return pickle.loads(_answers[key])
    result = _attempt(self, body, program, seconds)
    if not isinstance(result, CompileFailure):
        _answers[key] = pickle.dumps(result)
        if len(_answers) > _MOST_ANSWERS:
            del _answers[next(iter(_answers))]
    return result


def _waiting(affinity: frozenset[int]) -> Connection | None:
    """Return a server that waits and lives; after a fork those of the parent do not count."""
    while _idle[affinity]:
        connection = _idle[affinity].pop()
        if not connection.is_closed and connection._process.poll() is None:
            return connection
    return None


def _close(self: Compiler) -> None:
    """Let the server wait for the next, if it is whole and there are not enough."""
    server = self._server
    with server.lock():
        connection, server._connection = server._connection, None
        if connection is None:
            return
        waiting = _idle[_affinity.get(connection.process_id, frozenset())]
        if connection.is_closed or len(waiting) >= _MOST:
            connection.kill()
        else:
            waiting.append(connection)


@contextmanager
def lent() -> Iterator[None]:
    """Inside, compilers take servers that wait, and leave theirs to wait."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(OwnedServer, "connected", _connected)
        patch.setattr(Compiler, "close", _close)
        patch.setattr(Compiler, "_attempt", _remembered)
        yield
