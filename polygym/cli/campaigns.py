"""Where ``sweep`` is at work: on this machine, in several jobs, or on a cluster's nodes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import click

from polygym.cli.clusters import fleet_on
from polygym.cli.output import say
from polygym.search.cluster.address import Address
from polygym.search.sweep.beginning import Begun, begun
from polygym.search.sweep.campaign import Campaign
from polygym.search.sweep.cores import Plan, plan_cores, usable_cores
from polygym.search.sweep.opening import kept_kind
from polygym.search.sweep.orders import Orders
from polygym.search.sweep.setting import SweepSetting

if TYPE_CHECKING:
    from polygym.search.cluster.sweeping import FleetCampaign

AtWork: TypeAlias = "tuple[Campaign | FleetCampaign, Begun]"
"""What sweeps, and the store that it has begun with."""


def at_work(
    out: Path, setting: SweepSetting, orders: Orders, jobs: int, on: Address | None
) -> AbstractContextManager[AtWork]:
    """Return what gives the campaign; ``orders`` are for one job, whose time several share."""
    if on is not None:
        if jobs > 1:
            raise click.UsageError("--jobs is for one machine; with --on each node has one job.")
        return _there(out, setting, orders, on)
    threads = setting.measuring.threads
    plan = plan_cores(usable_cores(threads), jobs, threads)
    if plan.remark:
        say(plan.remark, err=True)
    return _here(out, setting, _with_jobs(orders, len(plan.places)), plan)


def _with_jobs(orders: Orders, jobs: int) -> Orders:
    """Return orders for several jobs at a time, which share the time of each."""
    seconds = None if orders.seconds is None else orders.seconds * jobs
    return replace(orders, seconds=seconds, jobs=jobs)


@contextmanager
def _here(out: Path, setting: SweepSetting, orders: Orders, plan: Plan) -> Iterator[AtWork]:
    """Give the campaign on this machine."""
    with begun(out, setting, orders) as sweep:
        if kept_kind(out):  # a cluster's, of which this machine has to be a node or like one
            from polygym.search.cluster.kinds import this_kind

            sweep.store.keep_kind(this_kind().key, str(this_kind()))
        yield Campaign(sweep.store, setting, orders, plan, sweep.lock), sweep


@contextmanager
def _there(out: Path, setting: SweepSetting, orders: Orders, on: Address) -> Iterator[AtWork]:
    """Give the campaign on a cluster, whose nodes have been heard of."""
    from polygym.search.cluster.members import most_frequent
    from polygym.search.cluster.sweeping import FleetCampaign, run_of

    with fleet_on(on) as fleet:
        chosen = most_frequent(fleet.assemble(), kept_kind(out))
        orders = _with_jobs(orders, fleet.workers)
        with begun(out, setting, orders, run_of(chosen)) as sweep:
            yield FleetCampaign(sweep.store, setting, orders, fleet, chosen.kind), sweep
