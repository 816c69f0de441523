"""The fleet: workers on many machines, kept busy from one place, which alone writes the results.

A worker joins with a greeting (its kind, its polygym, its calibration), is refused or gets jobs one
after the other, each of which is a stream of rows. One job is under way per worker, so what is in
flight is bounded by the number of workers. Placing, carrying and noticing who died is the
transport's; here is what a death means: the rows that came are kept, the rest goes to another
worker. A worker whose calibration drifts, or that is silent for too long, is drained and said.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from secrets import token_hex

from polygym.closing import Closing
from polygym.errors import InputError
from polygym.pickles import pickled_by_name
from polygym.search.cluster.calibration import Calibration, drift_allowed
from polygym.search.cluster.jobs import PRELIMINARY, Job, Json, Supply
from polygym.search.cluster.kinds import sources
from polygym.search.cluster.members import Greeting, Member, State, Tell, greeting_from_json
from polygym.search.cluster.transport import LostError, Site, Transport

_LOOK_SECONDS = 1.0
_WAIT_SECONDS = 0.1
_LOST_MOST = 3  # losses of workers in a row, without a row between, after which a job is given up
_DIED_MOST = 8  # losses of a site in a row, without a job that ended, after which it is left


@pickled_by_name
@dataclass(frozen=True, slots=True)
class Patience:
    """How long a fleet waits: for any worker at all, for a sign of one, for its end, and so on.

    A worker is calibrated anew after ``calibrated`` seconds.
    """

    anybody: float = 60.0
    silence: float = 900.0
    greeting: float = 180.0
    drain: float = 5.0
    calibrated: float = 300.0


class Fleet(Closing):
    """The workers of a cluster."""

    def __init__(
        self, transport: Transport, tell: Tell = lambda _: None, patience: Patience = Patience()
    ) -> None:
        """Work with what a transport reaches; ``tell`` hears of nodes that come and go."""
        self.transport = transport
        self.patience = patience
        self.members: dict[str, Member] = {}
        self.lost = 0
        self._tell = tell
        self._own = token_hex(8)
        self._drift = drift_allowed()
        self._losses: Counter[str] = Counter()
        self._lost_at: dict[str, float] = {}
        self._deaths: Counter[str] = Counter()
        self._hired: Counter[str] = Counter()
        self._looked = -_LOOK_SECONDS
        self._somebody = time.monotonic()

    def assemble(self, is_stopped: Callable[[], bool] = lambda: False) -> tuple[Greeting, ...]:
        """Wait for the greetings of all nodes that there are now, and return them.

        Raises:
            InputError: there are none.
        """
        while not is_stopped():
            self._look()
            joining = any(one.state is State.JOINING for one in self.members.values())
            if self.greetings and not joining:
                return self.greetings
            self._expect_somebody()
            self._listen(None, _WAIT_SECONDS)
        return self.greetings

    @property
    def greetings(self) -> tuple[Greeting, ...]:
        """The greetings of the workers that are there."""
        present = (State.FREE, State.BUSY)
        return tuple(
            one.greeting for one in self.members.values() if one.greeting and one.state in present
        )

    def states(self) -> str:
        """Return how many nodes are in which state, and how many were lost, for people."""
        counts = Counter(one.state for one in self.members.values())
        parts = [f"{counts[one]} {one.value}" for one in State if counts[one]]
        return f"{len(self.members)} nodes: {', '.join(parts)}" if parts else "no nodes"

    @property
    def workers(self) -> int:
        """How many workers there are."""
        return len(self.greetings)

    def run(
        self,
        supply: Supply,
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
                self._look()
                self._give(supply)
                self._expect_somebody()
                self._listen(supply, _WAIT_SECONDS)
                self._watch(supply)
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

    def _look(self) -> None:
        """Hire the sites that are new, or whose worker has died."""
        if time.monotonic() - self._looked < _LOOK_SECONDS:
            return
        self._looked = time.monotonic()
        sites = {one.name: one for one in self.transport.sites()}
        for name, member in self.members.items():
            if name not in sites and member.state.is_hired and member.call is None:
                self._lose(None, member, "the node is gone")
        for name, site in sites.items():
            known = self.members.get(name)
            if known is None or (known.state is State.LOST and self._deaths[name] < _DIED_MOST):
                self._hire(site)

    def _hire(self, site: Site) -> None:
        try:
            worker = self.transport.hire(site)
        except LostError:
            return  # it comes and goes; the next look may find it
        name = f"{site.name}/{self._hired[site.name]}"
        self._hired[site.name] += 1
        member = Member(site, name, worker)
        self.members[site.name] = member
        member.begin(self.transport.call(worker, "greet", ""))

    def _give(self, supply: Supply) -> None:
        """Give every free worker something to do: a job, or a calibration that is due."""
        for member in self.members.values():
            if member.state is not State.FREE or member.greeting is None:
                continue
            kind = member.greeting.kind
            if reason := supply.accepts(kind):
                self._refuse(member, reason)
                continue
            if member.is_due(self.patience.calibrated):
                member.state = State.BUSY
                member.begin(self.transport.call(member.worker, "calibrate", ""))
                continue
            job = supply.next(member.name, kind, self.workers)
            if job is not None:
                member.state, member.job = State.BUSY, job
                more = {"job": self._name_of(job), "about": job.about}
                text = json.dumps({**job.document, **more})
                member.begin(self.transport.call(member.worker, "work", text))

    def _name_of(self, job: Job) -> str:
        """Return a name that no job of another driver has, which may share the worker."""
        return f"{self._own}/{job.number}"

    def _listen(self, supply: Supply | None, seconds: float) -> None:
        """Take what has come in."""
        calls = {one.call: one for one in self.members.values() if one.call is not None}
        if not calls:
            time.sleep(seconds)
            return
        found = self.transport.ready(tuple(calls), seconds)
        with nullcontext() if supply is None else supply.together():
            for call in found:
                self._hear(supply, calls[call])

    def _hear(self, supply: Supply | None, member: Member) -> None:
        try:
            text = self.transport.take(member.call)
        except LostError as error:
            # It may only have been out of reach: then it is still at the job that others get now.
            self.transport.dismiss(member.worker)
            self._lose(supply, member, str(error))
            return
        member.heard = self._somebody = time.monotonic()
        if text is None:
            self._end_call(supply, member)
            return
        rows = []
        for row in json.loads(text):
            match row["row"]:
                case "greeting":
                    self._greeted(member, row)
                case "waiting":
                    self._note_waiting(member)
                case "clock":
                    member.clocked(float(row["seconds"]), self._drift)
                case _:
                    rows.append(row)
        if rows and supply is not None and member.job is not None:
            if any(row["row"] not in PRELIMINARY for row in rows):
                self._forget_losses(member.job.about)
            member.rows += len(rows)
            supply.keep(member.job, rows)

    def _note_waiting(self, member: Member) -> None:
        """Say once of a node that joins why that takes so long."""
        if member.state is State.JOINING and not member.note:
            member.note = "others measure on its host"
            self._tell(f"node {member.label} waits: {member.note}")

    def _greeted(self, member: Member, row: Json) -> None:
        if row["sources"] != sources():
            self._refuse(
                member,
                f"expected polygym as it is here ({sources()}), found {row['version']} "
                f"({row['sources']})",
            )
            return
        member.greeting = greeting_from_json(row)
        member.calibration = Calibration(member.greeting.seconds)
        if niceness := member.greeting.niceness:
            self._tell(
                f"node {member.label} gives way to all others (niceness {niceness}), which its "
                "clock feels: RAY_worker_niceness=0 ray start …"
            )

    def _end_call(self, supply: Supply | None, member: Member) -> None:
        """Take note that a greeting, a calibration or a job is over."""
        job = member.end()
        if member.state in (State.JOINING, State.BUSY):
            member.state = State.FREE
        if job is not None and supply is not None:
            self._deaths.pop(member.site.name, None)
            supply.ended(job)
        if member.calibration is not None and member.calibration.has_drifted:
            self._refuse(member, f"its clock has drifted: {member.calibration}", State.DRAINED)

    def _refuse(self, member: Member, reason: str, state: State = State.REFUSED) -> None:
        """Let a worker go, and say why."""
        member.state, member.note = state, reason
        self.transport.leave(member.worker)
        member.end()
        self._tell(f"node {member.label} is {state.value}: {reason}")

    def _lose(self, supply: Supply | None, member: Member, reason: str) -> None:
        """Take back the job of a worker that is gone; after some losses it is given up."""
        job = member.end()
        if member.state in (State.REFUSED, State.DRAINED):
            return
        member.state, member.note = State.LOST, reason
        self._deaths[member.site.name] += 1
        self.lost += 1
        self._tell(f"node {member.label} is {State.LOST.value}: {reason}")
        if self._deaths[member.site.name] == _DIED_MOST:
            self._tell(f"node {member.label} is left: it was lost {_DIED_MOST} times in a row")
        if job is None or supply is None:
            return
        # Nodes that go together are one loss: they had their jobs before the first of them went.
        if member.began >= self._lost_at.get(job.about, 0.0):
            self._losses[job.about] += 1
            self._lost_at[job.about] = time.monotonic()
        if self._losses[job.about] < _LOST_MOST:
            supply.lost(job)
            return
        self._forget_losses(job.about)
        supply.given_up(job, f"{_LOST_MOST} nodes in a row were lost at it; the last: {reason}")

    def _forget_losses(self, about: str) -> None:
        """Take note that a job came further."""
        self._losses.pop(about, None)
        self._lost_at.pop(about, None)

    def _watch(self, supply: Supply | None) -> None:
        """Let go of workers from which nothing has come for too long."""
        now = time.monotonic()
        for member in self.members.values():
            is_new = member.state is State.JOINING
            limit = self.patience.greeting if is_new else self.patience.silence
            if member.call is not None and now - member.heard > limit:
                self.transport.dismiss(member.worker)
                self._lose(supply, member, f"nothing was heard of it for {limit:.0f} s")

    def _drain(self, supply: Supply) -> None:
        """Have the workers end their jobs after what they are at; those that do not are ended."""
        busy = [one for one in self.members.values() if one.job is not None]
        for member in busy:
            assert member.job is not None
            with suppress(LostError):
                text = json.dumps({"job": self._name_of(member.job)})
                member.talk = self.transport.call(member.worker, "stop", text)
        deadline = time.monotonic() + self.patience.drain
        while any(one.job is not None for one in busy) and time.monotonic() < deadline:
            self._listen(supply, _WAIT_SECONDS)
        for member in busy:
            if member.job is not None:
                self.transport.dismiss(member.worker)
                self._lose(supply, member, "it did not end its job when asked to")

    def _expect_somebody(self) -> None:
        """Give up where there has been nobody for a while.

        Raises:
            InputError: there is nobody.
        """
        working = (State.JOINING, State.FREE, State.BUSY)
        if any(one.state in working for one in self.members.values()):
            self._somebody = time.monotonic()
        elif time.monotonic() - self._somebody > self.patience.anybody or self._nobody_left():
            raise InputError(
                "a cluster: expected nodes that offer a measuring slot (ray start "
                f"--resources='{{\"measuring\": 1}}'), found {self._why_nobody()}"
            )

    def _nobody_left(self) -> bool:
        """Whether all that there were have been refused or drained."""
        gone = (State.REFUSED, State.DRAINED)
        return bool(self.members) and all(one.state in gone for one in self.members.values())

    def _why_nobody(self) -> str:
        notes = [f"{one.label} {one.state.value} ({one.note})" for one in self.members.values()]
        return "; ".join(notes) or "none"
