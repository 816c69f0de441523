"""A program as a command line asks for it: its storage, its schedule, its mapping."""

from collections.abc import Mapping as Dictionary
from dataclasses import dataclass, replace

from polygym.cli.options import common, schedules
from polygym.cli.options.variants import ResolvedVariant, VariantOptions
from polygym.ir.scop import Scop
from polygym.mapping.mapping import DEFAULT_MAPPING, SEQUENTIAL_MAPPING, Mapping
from polygym.poly.schedule import Schedule
from polygym.poly.scheduling.baselines import original_schedule
from polygym.programs import Program, load_program


@dataclass(frozen=True, slots=True)
class ResolvedProgram:
    """A program with a schedule and a mapping; ``is_original`` says that nothing is changed."""

    program: Program
    given: schedules.ResolvedSchedule
    mapping: Mapping
    is_original: bool


def resolve_program(
    program: Program,
    schedule_text: str,
    variant: VariantOptions,
    mapping: Mapping | None,
    threads: int,
) -> ResolvedProgram:
    """Return what a schedule's text, the options of storage and the mapping stand for."""
    said = schedules.mapping_in_file(schedule_text)
    asked = common.resolve_mapping(mapping, said or DEFAULT_MAPPING, threads)
    if not variant.is_given and schedules.is_automatic(schedule_text):
        given = schedules.automatic_schedule(
            program, asked, variant.memory_limit, keeps_mapping=mapping is not None
        )
        program = program if given.variant is None else given.variant.program
    else:
        program = variant.apply(program, schedule_text, asked)
        make = schedules.schedule_maker(schedule_text)
        given = make(program.scop, dict(program.parameters), asked)
    in_order = given.schedule == original_schedule(program.scop)
    # The order of the text runs as it stands, unless it was chosen for what a mapping makes of it.
    as_it_stands = in_order and given.choice is None and said is None
    sequential = common.resolve_mapping(mapping, SEQUENTIAL_MAPPING, threads)
    chosen = sequential if as_it_stands else asked
    if given.confirmed is not None:
        chosen = given.confirmed.mapping
    is_sequential = replace(chosen, threads=1) == SEQUENTIAL_MAPPING
    is_original = program.source is None and in_order and is_sequential
    return ResolvedProgram(program, given, chosen, is_original)


@dataclass(frozen=True, slots=True)
class ShownProgram:
    """A program that is looked at and not run: its storage, a schedule and a mapping."""

    variant: ResolvedVariant
    schedule: Schedule
    mapping: Mapping


@dataclass(frozen=True, slots=True)
class ShownTarget:
    """The program of ``polygym show``: its name, its region, and its sizes, None for all."""

    name: str
    region: str | None
    written: Scop
    sizes: Dictionary[str, int] | None


def resolve_shown(
    target: ShownTarget,
    schedule_text: str,
    variant: VariantOptions,
    mapping: Mapping | None,
    threads: int,
) -> ShownProgram:
    """Return what is shown: the automatic schedule with the storage and mapping that `run` takes.

    Every other schedule has the mapping of its file, or else none.
    """
    has_sizes = target.sizes is not None or not target.written.parameters
    if schedules.is_automatic(schedule_text) and has_sizes and not variant.is_given:
        program = load_program(target.name, function=target.region, parameters=target.sizes)
        resolved = resolve_program(program, schedule_text, variant, mapping, threads)
        taken = resolved.program
        stored = ResolvedVariant(taken.scop, taken.splitting, taken.storage)
        return ShownProgram(stored, resolved.given.schedule, resolved.mapping)
    stored = variant.resolve(target.written, schedule_text, target.sizes)
    said = schedules.mapping_in_file(schedule_text) or SEQUENTIAL_MAPPING
    chosen = common.resolve_mapping(mapping, said, threads)
    sizes = None if target.sizes is None else dict(target.sizes)
    given = schedules.schedule_maker(schedule_text)(stored.scop, sizes, chosen)
    return ShownProgram(stored, given.schedule, chosen)
