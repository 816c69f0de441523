"""The fleet: workers on many machines, kept busy from one place, which alone writes the results.

A worker joins with a greeting (its kind, its polygym, its calibration), is refused or gets jobs one
after the other, each of which is a stream of rows. One job is under way per worker, so what is in
flight is bounded by the number of workers. Placing, carrying and noticing who died is the
transport's; here is what a death means: the rows that came are kept, the rest goes to another
worker. A worker whose calibration drifts, or that is silent for too long, is drained and said.
"""

import json
import time
from collections import Counter
from collections.abc import Callable
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from secrets import token_hex
from typing import Any

from polygym.closeable import Closeable
from polygym.errors import InputError
from polygym.pickling import pickle_by_name
from polygym.search.runner.ray.fleet.jobs import PRELIMINARY_ROWS, ClusterJob, JobSupply, Json
from polygym.search.runner.ray.fleet.members import (
    ClockCalibration,
    FleetMember,
    MemberState,
    NodeGreeting,
    Notifier,
    drift_allowed,
    greeting_from_json,
)
from polygym.search.runner.ray.fleet.node_kinds import source_digest
from polygym.search.runner.ray.fleet.transport import MeasuringSite, Transport, WorkerLostError

_POLL_SECONDS = 1.0
_WAIT_SECONDS = 0.1
_MAX_LOSSES = 3  # losses of workers in a row, without a row between, after which a job is given up
_MAX_DEATHS = 8  # losses of a site in a row, without a job that ended, after which it is left


@pickle_by_name
@dataclass(frozen=True, slots=True)
class FleetTimeouts:
    """How long a fleet waits: for any worker at all, for a sign of one, for its end, and so on.

    A worker is calibrated anew after ``calibrated`` seconds.
    """

    first_worker: float = 60.0
    silence: float = 900.0
    greeting: float = 180.0
    drain: float = 5.0
    calibrated: float = 300.0


class Fleet(Closeable):
    """The workers of a cluster."""

    def __init__(
        self,
        transport: Transport,
        notify: Notifier = lambda _: None,
        timeouts: FleetTimeouts = FleetTimeouts(),
    ) -> None:
        """Work with what a transport reaches; ``notify`` hears of nodes that come and go."""
        self.transport = transport
        self.patience = timeouts
        self.members: dict[str, FleetMember] = {}
        self.lost = 0
        self._tell = notify
        self._own = token_hex(8)
        self._drift = drift_allowed()
        self._losses: Counter[str] = Counter()
        self._lost_at: dict[str, float] = {}
        self._deaths: Counter[str] = Counter()
        self._hired: Counter[str] = Counter()
        self._looked = -_POLL_SECONDS
        self._somebody = time.monotonic()

    def assemble(self, is_stopped: Callable[[], bool] = lambda: False) -> tuple[NodeGreeting, ...]:
        """Wait for the greetings of all nodes that there are now, and return them.

        Raises:
            InputError: there are none.
        """
        while not is_stopped():
            self._hire_new_sites()
            joining = any(member.state is MemberState.JOINING for member in self.members.values())
            if self.greetings and not joining:
                return self.greetings
            self._expect_worker()
            self._receive_all(None, _WAIT_SECONDS)
        return self.greetings

    @property
    def greetings(self) -> tuple[NodeGreeting, ...]:
        """The greetings of the workers that are there."""
        present = (MemberState.FREE, MemberState.BUSY)
        members = self.members.values()
        return tuple(
            member.greeting for member in members if member.greeting and member.state in present
        )

    def states(self) -> str:
        """Return how many nodes are in which state, and how many were lost, for people."""
        counts = Counter(member.state for member in self.members.values())
        parts = [f"{counts[state]} {state.value}" for state in MemberState if counts[state]]
        return f"{len(self.members)} nodes: {', '.join(parts)}" if parts else "no nodes"

    @property
    def workers(self) -> int:
        """How many workers there are."""
        return len(self.greetings)

    def run(
        self,
        supply: JobSupply[Any],
        is_stopped: Callable[[], bool] = lambda: False,
        show: Callable[[], None] = lambda: None,
    ) -> None:
        """Have all jobs of a supply done, or stop in a few seconds when told so.

        Raises:
            InputError: there is nobody to do them.
        """
        self._somebody = time.monotonic()
        try:
            while not supply.is_done:
                if is_stopped():
                    return
                self._hire_new_sites()
                self._assign(supply)
                self._expect_worker()
                self._receive_all(supply, _WAIT_SECONDS)
                self._check_silence(supply)
                show()
        finally:
            self._drain(supply)

    def close(self) -> None:
        """End the workers, and leave the cluster."""
        for member in self.members.values():
            if member.state.is_hired:
                self.transport.leave(member.worker)
        self.members.clear()
        self.transport.close()

    def _hire_new_sites(self) -> None:
        """Hire the sites that are new, or whose worker has died."""
        if time.monotonic() - self._looked < _POLL_SECONDS:
            return
        self._looked = time.monotonic()
        sites = {site.name: site for site in self.transport.sites()}
        for name, member in self.members.items():
            if name not in sites and member.state.is_hired and member.call is None:
                self._handle_loss(None, member, "the node is gone")
        for name, site in sites.items():
            known = self.members.get(name)
            is_lost = known is not None and known.state is MemberState.LOST
            if known is None or (is_lost and self._deaths[name] < _MAX_DEATHS):
                self._hire(site)

    def _hire(self, site: MeasuringSite) -> None:
        try:
            worker = self.transport.hire(site)
        except WorkerLostError:
            return  # it comes and goes; the next look may find it
        name = f"{site.name}/{self._hired[site.name]}"
        self._hired[site.name] += 1
        member = FleetMember(site, name, worker)
        self.members[site.name] = member
        member.begin(self.transport.call(worker, "greet", ""))

    def _assign(self, supply: JobSupply[Any]) -> None:
        """Give every free worker something to do: a job, or a calibration that is due."""
        for member in self.members.values():
            if member.state is not MemberState.FREE or member.greeting is None:
                continue
            kind = member.greeting.kind
            if reason := supply.accepts(kind):
                self._refuse(member, reason)
                continue
            if member.is_due(self.patience.calibrated):
                member.state = MemberState.BUSY
                member.begin(self.transport.call(member.worker, "calibrate", ""))
                continue
            job = supply.next(member.name, kind, self.workers)
            if job is not None:
                member.state, member.job = MemberState.BUSY, job
                text = json.dumps({**job.document, "job": self._name_of(job), "about": job.about})
                member.begin(self.transport.call(member.worker, "work", text))

    def _name_of(self, job: ClusterJob) -> str:
        """Return a name that no job of another driver has, which may share the worker."""
        return f"{self._own}/{job.number}"

    def _receive_all(self, supply: JobSupply[Any] | None, seconds: float) -> None:
        """Take what has come in."""
        calls = {member.call: member for member in self.members.values() if member.call is not None}
        if not calls:
            time.sleep(seconds)
            return
        ready = self.transport.ready(tuple(calls), seconds)
        with nullcontext() if supply is None else supply.transaction():
            for call in ready:
                self._receive(supply, calls[call])

    def _receive(self, supply: JobSupply[Any] | None, member: FleetMember) -> None:
        try:
            text = self.transport.take(member.call)
        except WorkerLostError as error:
            # It may only have been out of reach: then it is still at the job that others get now.
            self.transport.dismiss(member.worker)
            self._handle_loss(supply, member, str(error))
            return
        member.last_heard = self._somebody = time.monotonic()
        if text is None:
            self._end_call(supply, member)
            return
        rows = []
        for row in json.loads(text):
            match row["row"]:
                case "greeting":
                    self._handle_greeting(member, row)
                case "waiting":
                    self._note_waiting(member)
                case "clock":
                    member.record_clock(float(row["seconds"]), self._drift)
                case _:
                    rows.append(row)
        if rows and supply is not None and member.job is not None:
            if any(row["row"] not in PRELIMINARY_ROWS for row in rows):
                self._forget_losses(member.job.about)
            member.rows += len(rows)
            supply.add_rows(member.job, rows)

    def _note_waiting(self, member: FleetMember) -> None:
        """Say once of a node that joins why that takes so long."""
        if member.state is MemberState.JOINING and not member.note:
            member.note = "others measure on its host"
            self._tell(f"node {member.label} waits: {member.note}")

    def _handle_greeting(self, member: FleetMember, row: Json) -> None:
        if row["sources"] != source_digest():
            its_version = f"{row['version']} ({row['sources']})"
            here = f"expected polygym as it is here ({source_digest()}), found {its_version}"
            self._refuse(member, here)
            return
        member.greeting = greeting_from_json(row)
        member.calibration = ClockCalibration(member.greeting.seconds)
        if niceness := member.greeting.niceness:
            self._tell(
                f"node {member.label} gives way to all others (niceness {niceness}), which its "
                "clock feels: RAY_worker_niceness=0 ray start …"
            )

    def _end_call(self, supply: JobSupply[Any] | None, member: FleetMember) -> None:
        """Take note that a greeting, a calibration or a job is over."""
        job = member.end()
        if member.state in (MemberState.JOINING, MemberState.BUSY):
            member.state = MemberState.FREE
        if job is not None and supply is not None:
            self._deaths.pop(member.site.name, None)
            supply.job_ended(job)
        if member.calibration is not None and member.calibration.has_drifted:
            reason = f"its clock has drifted: {member.calibration}"
            self._refuse(member, reason, MemberState.DRAINED)

    def _refuse(
        self, member: FleetMember, reason: str, state: MemberState = MemberState.REFUSED
    ) -> None:
        """Let a worker go, and say why."""
        member.state, member.note = state, reason
        self.transport.leave(member.worker)
        member.end()
        self._tell(f"node {member.label} is {state.value}: {reason}")

    def _handle_loss(self, supply: JobSupply[Any] | None, member: FleetMember, reason: str) -> None:
        """Take back the job of a worker that is gone; after some losses it is given up."""
        job = member.end()
        if member.state in (MemberState.REFUSED, MemberState.DRAINED):
            return
        member.state, member.note = MemberState.LOST, reason
        self._deaths[member.site.name] += 1
        self.lost += 1
        self._tell(f"node {member.label} is {MemberState.LOST.value}: {reason}")
        if self._deaths[member.site.name] == _MAX_DEATHS:
            self._tell(f"node {member.label} is left: it was lost {_MAX_DEATHS} times in a row")
        if job is None or supply is None:
            return
        # Nodes that go together are one loss: they had their jobs before the first of them went.
        if member.started_at >= self._lost_at.get(job.about, 0.0):
            self._losses[job.about] += 1
            self._lost_at[job.about] = time.monotonic()
        if self._losses[job.about] < _MAX_LOSSES:
            supply.job_lost(job)
            return
        self._forget_losses(job.about)
        last = f"{_MAX_LOSSES} nodes in a row were lost at it; the last: {reason}"
        supply.job_abandoned(job, last)

    def _forget_losses(self, about: str) -> None:
        """Take note that a job came further."""
        self._losses.pop(about, None)
        self._lost_at.pop(about, None)

    def _check_silence(self, supply: JobSupply[Any] | None) -> None:
        """Let go of workers from which nothing has come for too long."""
        now = time.monotonic()
        for member in self.members.values():
            is_new = member.state is MemberState.JOINING
            limit = self.patience.greeting if is_new else self.patience.silence
            if member.call is not None and now - member.last_heard > limit:
                self.transport.dismiss(member.worker)
                self._handle_loss(supply, member, f"nothing was heard of it for {limit:.0f} s")

    def _drain(self, supply: JobSupply[Any]) -> None:
        """Have the workers end their jobs after what they are at; those that do not are ended."""
        busy = [member for member in self.members.values() if member.job is not None]
        for member in busy:
            assert member.job is not None
            with suppress(WorkerLostError):
                text = json.dumps({"job": self._name_of(member.job)})
                member.control_call = self.transport.call(member.worker, "stop", text)
        deadline = time.monotonic() + self.patience.drain
        while any(member.job is not None for member in busy) and time.monotonic() < deadline:
            self._receive_all(supply, _WAIT_SECONDS)
        for member in busy:
            if member.job is not None:
                self.transport.dismiss(member.worker)
                self._handle_loss(supply, member, "it did not end its job when asked to")

    def _expect_worker(self) -> None:
        """Give up where there has been nobody for a while.

        Raises:
            InputError: there is nobody.
        """
        if any(member.state.is_hired for member in self.members.values()):
            self._somebody = time.monotonic()
        elif time.monotonic() - self._somebody > self.patience.first_worker or self._is_empty():
            raise InputError(
                "a cluster: expected nodes that offer a measuring slot (ray start "
                f"--resources='{{\"measuring\": 1}}'), found {self._empty_reason()}"
            )

    def _is_empty(self) -> bool:
        """Whether all that there were have been refused or drained."""
        gone = (MemberState.REFUSED, MemberState.DRAINED)
        return bool(self.members) and all(member.state in gone for member in self.members.values())

    def _empty_reason(self) -> str:
        members = self.members.values()
        notes = [f"{member.label} {member.state.value} ({member.note})" for member in members]
        return "; ".join(notes) or "none"
