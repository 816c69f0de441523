"""Groups of commands that are imported when they are called: ``--help`` costs nothing."""

import gc
import importlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType
from typing import Any

import click


class LazyGroup(click.Group):
    """A group whose commands stand in modules of a package, each as its ``command``.

    ``summaries`` has a sentence about each, in the order of use; ``aliases`` has the command that
    another name stands for.
    """

    def __init__(
        self,
        *arguments: Any,
        package: str,
        summaries: Mapping[str, str],
        aliases: Mapping[str, str] = MappingProxyType({}),
        **named: Any,
    ) -> None:
        """Keep where the commands are."""
        super().__init__(*arguments, **named)
        self._package, self._summaries, self._aliases = package, dict(summaries), dict(aliases)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in the order of use."""
        return list(self._summaries)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the module of a command."""
        if cmd_name not in self._summaries:
            return None
        with _without_collecting():
            name = self._aliases.get(cmd_name, cmd_name)
            module = importlib.import_module(f"{self._package}.{name}")
        command: click.Command = module.command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl(list(self._summaries.items()))


@contextmanager
def _without_collecting() -> Iterator[None]:
    """Inside, nobody looks for garbage, which would take a tenth more: what is imported stays."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
