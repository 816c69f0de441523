"""Messages arrive as they were sent; what is no message closes the channel."""

import socket
import struct
import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polygym.runtime.worker.job_messages import (
    Channel,
    ChannelClosedError,
    JobFailed,
    JobFinished,
    JobPurpose,
    RunnerJob,
    job_from_message,
    job_result_from_json,
    job_result_to_json,
    job_to_message,
    problem_from_message,
    problem_to_message,
)
from polygym.runtime.worker.outcome import Timeout
from polygym.runtime.worker.problem import CompiledProgram
from polygym.runtime.worker.timing import Repetition
from tests.runtime.worker import objects


@pytest.fixture
def pair():
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield ours, theirs


@given(
    st.dictionaries(st.text(), st.integers() | st.text() | st.none(), max_size=4),
    st.lists(st.binary(max_size=100), max_size=4),
)
@settings(max_examples=50, deadline=None)
def test_messages_arrive_as_sent(body, blobs):
    ours, theirs = socket.socketpair()
    with ours, theirs:
        Channel(ours).send(body, blobs)
        Channel(ours).send({"next": 1})
        assert Channel(theirs).receive() == (body, blobs)
        assert Channel(theirs).receive() == ({"next": 1}, [])


def test_large_blob_arrives(pair):
    blob = bytes(range(256)) * 40_000
    sender = threading.Thread(target=Channel(pair[0]).send, args=({}, [blob]))
    sender.start()
    assert Channel(pair[1]).receive() == ({}, [blob])
    sender.join()


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"\1\0",
        struct.pack("<II", 5, 0) + b"{",
        struct.pack("<II", 1, 0) + b"{",
        struct.pack("<II", 2, 0) + b"[]",
        struct.pack("<II", 1, 0) + b"\xff",
        struct.pack("<II", 2, 1) + struct.pack("<Q", 9) + b"{}x",
    ],
)
def test_what_is_no_message_closes_the_channel(pair, sent):
    pair[0].sendall(sent)
    pair[0].shutdown(socket.SHUT_WR)
    with pytest.raises(ChannelClosedError):
        Channel(pair[1]).receive()


def test_sending_to_nobody(pair):
    pair[1].close()
    with pytest.raises(ChannelClosedError):
        Channel(pair[0]).send({})


def test_job_and_problem_survive_as_messages():
    job = RunnerJob(
        JobPurpose.COMPARE,
        (CompiledProgram(b"one", (0, 2), (5, -1), 1e-9), CompiledProgram(b"two", ())),
        Repetition(2, 0.5, 7),
        float("inf"),
        60.0,
        True,
    )
    assert job_from_message(*job_to_message(job)) == job
    assert problem_from_message(*problem_to_message(objects.problem())) == objects.problem()


@pytest.mark.parametrize("verdict", [JobFinished(((1.0, 2.0), ())), JobFailed(3, Timeout(1.0))])
def test_verdict_survives_json(verdict):
    assert job_result_from_json(job_result_to_json(verdict)) == verdict
