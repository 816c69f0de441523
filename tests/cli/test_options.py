"""Names, metavars and help of the options of all commands."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator

import click
import pytest

from polygym.cli.group import polygym
from polygym.cli.options.values import ByteCount, Duration
from polygym.durations import parse_duration

OLD_NAMES = {
    "--time", "--minutes", "--seconds", "--compile-seconds", "--each", "--homes", "--mend", "--on",
    "--policy", "--search", "--seeds", "--memory", "--compile-memory", "--again", "--svg",
    "--parameter", "--size", "--kernels", "--rounds", "--first", "--method", "--limit", "--work",
}  # fmt: skip


def commands(
    group: click.Group = polygym, path: tuple[str, ...] = ()
) -> Iterator[tuple[str, click.Command]]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        if isinstance(command, click.Group):
            yield from commands(command, (*path, name))
        yield " ".join((*path, name)), command


IN_WORK: set[str] = set()
COMMANDS = {name: command for name, command in commands() if name not in IN_WORK}


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_has_a_metavar_and_help(name: str) -> None:
    command = COMMANDS[name]
    context = click.Context(command, info_name=name)
    assert command.get_short_help_str()
    for parameter in command.params:
        shown = parameter.make_metavar(context)
        if isinstance(parameter, click.Argument):
            assert re.fullmatch(r"\[?[A-Z]+(\.\.\.)?\]?(\.\.\.)?", shown), shown
            continue
        assert isinstance(parameter, click.Option)
        assert not OLD_NAMES & {*parameter.opts, *parameter.secondary_opts}
        assert parameter.help
        assert parameter.help[0] != " "
        if not parameter.is_flag and not isinstance(parameter.type, click.Choice):
            assert parameter.metavar, parameter.opts
            assert not re.fullmatch("(INTEGER|FLOAT|TEXT)( RANGE)?", shown)
            if isinstance(parameter.type, click.IntRange | click.types.IntParamType):
                assert shown == "N", parameter.opts
            if parameter.opts[0].endswith(("-limit",)) and isinstance(parameter.type, Duration):
                assert shown == "DURATION"
    text = command.get_help(context)
    assert not re.search(r"\d{9}|x<=|<=x|RANGE|KERNEL\|", text), text


@pytest.mark.parametrize("name", COMMANDS)
def test_the_function_takes_every_parameter(name: str) -> None:
    command = COMMANDS[name]
    if isinstance(command, click.Group) or command.callback is None:
        return
    names = {parameter.name for parameter in command.params if parameter.expose_value}
    taken = inspect.signature(inspect.unwrap(command.callback)).parameters
    if "variant" in taken:  # `variant_options` hands these over as one value
        assert {"split", "storage"} <= names
        names = names - {"split", "storage", "storage_limit"} | {"variant"}
    assert names == set(taken)


def test_one_option_has_one_metavar_in_all_commands() -> None:
    metavars: dict[str, set[str]] = {}
    for command in COMMANDS.values():
        context = click.Context(command)
        for parameter in command.params:
            if isinstance(parameter, click.Option) and not isinstance(parameter.type, click.Choice):
                for option in parameter.opts:
                    metavars.setdefault(option, set()).add(parameter.make_metavar(context))
    several = {option for option, shown in metavars.items() if len(shown) > 1}
    assert several <= {
        "--out",
        "--rules",
        "--strategy",
        "--against",
        "--model",
    }  # kinds beside files


@pytest.mark.parametrize(
    ("text", "seconds"), [("90s", 90.0), ("10m", 600.0), ("1h", 3600.0), ("0.5s", 0.5)]
)
def test_durations_have_a_unit(text: str, seconds: float) -> None:
    assert parse_duration(text) == seconds
    assert Duration().convert(text, None, None) == seconds


@pytest.mark.parametrize("text", ["90", "s", "-1s", "1d", "0s", "1e3s", "", "nan"])
def test_other_durations_are_refused(text: str) -> None:
    with pytest.raises(click.BadParameter, match=f"expected a duration .*, found {text!r}"):
        Duration().convert(text, None, None)


@pytest.mark.parametrize(
    ("text", "count"), [("512MiB", 2**29), ("4096", 4096), ("2 GiB", 2**31), ("0", 0)]
)
def test_bytes_have_a_unit_or_none(text: str, count: int) -> None:
    assert ByteCount().convert(text, None, None) == count


@pytest.mark.parametrize("text", ["", "1MB", "-1", "1.5GiB", str(2**63)])
def test_other_bytes_are_refused(text: str) -> None:
    with pytest.raises(click.BadParameter, match="expected a number of bytes such as 512MiB"):
        ByteCount().convert(text, None, None)
