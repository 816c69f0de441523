"""Reference page of the command line: usage, help and options of every command, from click."""

import inspect
import re
import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import click

from docs.site.docstrings import as_markdown
from docs.site.markdown import PageOpening, code, fenced, heading, page, plain, slug, table
from polygym.cli import dispatch
from polygym.cli.group import polygym

_NOTES = re.compile(r"\s*\[([^\[\]]*)\]$")
_DEFAULT = re.compile(r"\s*\(Default: (.*?)\.?\)$", re.IGNORECASE)
_OPTION = re.compile(r"(?<![\w`-])--[a-z][\w-]*")
_VERBATIM = "\b\n"

_OPENING = PageOpening(
    (
        "`polygym COMMAND --help` prints the options of a command, with examples.",
        "Most commands take a [program](#programs): a kernel, a comprehension, or a C file.",
        "Under `--json` standard output has [one document](schemas.md).",
    ),
    """\
```console
$ polygym kernels 'gem*'
gemm ... C = alpha A B + beta C
$ polygym kernels 'gem*' --json
    "name": "gemm",
```
""",
)


@dataclass(frozen=True, slots=True)
class CommandHelp:
    """A command with the words that call it, such as ``graph optimize``."""

    words: tuple[str, ...]
    command: click.Command

    @property
    def name(self) -> str:
        """The words that call it."""
        return " ".join(self.words)

    @property
    def context(self) -> click.Context:
        """A context in which it describes itself."""
        context = click.Context(polygym, info_name="polygym")
        for word, command in zip(self.words, self._commands(), strict=True):
            context = click.Context(command, parent=context, info_name=word)
        return context

    def _commands(self) -> Iterator[click.Command]:
        inner: click.Command = polygym
        for word in self.words:
            assert isinstance(inner, click.Group)
            found = inner.get_command(click.Context(inner), word)
            assert found is not None
            inner = found
            yield found


def all_commands(group: click.Group = polygym, above: tuple[str, ...] = ()) -> list[CommandHelp]:
    """Return every command and subcommand, in the order of use."""
    result = []
    context = click.Context(group)
    for word in group.list_commands(context):
        command = group.get_command(context, word)
        assert command is not None
        result.append(CommandHelp((*above, word), command))
        if isinstance(command, click.Group):
            result += all_commands(command, (*above, word))
    return result


def commands_page() -> str:
    """Return the page."""
    commands = all_commands()
    epilogs = Counter(one.command.epilog for one in commands if one.command.epilog)
    shared = [text for text, count in epilogs.items() if count > 1]
    sections: list[str] = []
    known: dict[int, CommandHelp] = {}
    for one in commands:
        sections.append(heading(min(len(one.words), 2) + 1, code(one.name), slug(one.name)))
        first = known.setdefault(id(one.command), one)
        if first is one:
            sections += _sections(one, shared)
        else:
            sections.append(f"The same command as [{code(first.name)}](#{slug(first.name)}).")
    return page(
        "Commands",
        _OPENING,
        table(
            ("Command", "Purpose"),
            [(f"[{code(one.name)}](#{slug(one.name)})", plain(_summary(one))) for one in commands],
        ),
        heading(2, "Exit codes", "exit-codes"),
        as_markdown((dispatch.__doc__ or "").partition("\n\n")[2].partition("That holds")[0]),
        heading(2, "Programs", "programs"),
        *(plain(" ".join(text.split())) for text in _paragraphs(shared)),
        *sections,
    )


def options_of(one: CommandHelp) -> list[click.Option]:
    """Return the options of a command that have a help text, in their order."""
    params = one.command.get_params(one.context)
    return [
        option
        for option in params
        if isinstance(option, click.Option) and not option.hidden and "--help" not in option.opts
    ]


def _summary(one: CommandHelp) -> str:
    return one.command.get_short_help_str(200)


def _sections(one: CommandHelp, shared: Sequence[str]) -> Iterator[str]:
    """Yield usage, help, options of a command."""
    usage = " ".join(one.context.command.collect_usage_pieces(one.context))
    yield fenced(f"polygym {one.name} {usage}", "console")
    yield from _help(one.command.help or "")
    epilog = one.command.epilog
    if epilog in shared:
        yield "[Programs](#programs) says how a program is named."
    elif epilog:
        yield from _help(epilog)
    if options := options_of(one):
        rows = [_option_row(option, one.context) for option in options]
        yield table(("Option", "Default", "Meaning"), rows)


def _help(text: str) -> Iterator[str]:
    """Yield the paragraphs of a help text; those that keep their lines are blocks of code."""
    for paragraph in inspect.cleandoc(text.replace("\f", "")).split("\n\n"):
        if not paragraph.startswith(_VERBATIM):
            yield _text(" ".join(paragraph.split()))
            continue
        lines = paragraph.removeprefix(_VERBATIM).splitlines()
        if lines[0].rstrip().endswith(":") and not lines[0].startswith(" "):
            yield plain(lines.pop(0).strip())
        if lines:
            block = textwrap.dedent("\n".join(lines))
            yield fenced(block, "console" if block.startswith("polygym ") else "text")


def _option_row(option: click.Option, context: click.Context) -> tuple[str, str, str]:
    record = option.get_help_record(context)
    assert record is not None, f"an option without a help text: {option.opts}"
    call, text = record
    notes: list[str] = []
    if match := _NOTES.search(text):
        text, notes = text[: match.start()], match[1].split("; ")
    defaults = [note.removeprefix("default: ") for note in notes if note.startswith("default: ")]
    if (match := _DEFAULT.search(text)) and not defaults:
        text, defaults = text[: match.start()], [match[1]]
    others = [note for note in notes if not note.startswith("default: ")]
    if isinstance(option.type, click.Choice):
        call = call.partition(" [")[0]
        values = ", ".join(code(str(value)) for value in option.type.choices)
        text = f"{_text(text)} Values: {values}."
    else:
        text = _text(text)
    if others:
        text = f"{text} ({', '.join(map(plain, others))})"
    return "<br>".join(map(code, _names(call))), ", ".join(map(_text, defaults)), text


def _text(text: str) -> str:
    """Return a help text as Markdown; options in it are code.

    >>> _text("needs --against limit, `see --out`")
    'needs `--against` limit, `see --out`'
    """
    parts = re.split(r"(`[^`]*`)", text)
    shown = [
        part if part.startswith("`") else _OPTION.sub(lambda match: f"`{match[0]}`", part)
        for part in parts
    ]
    return plain("".join(shown))


def _names(call: str) -> list[str]:
    """Return the names of an option, the last with its value.

    >>> _names("-d, --dataset SIZE")
    ['-d', '--dataset SIZE']
    """
    return re.split(r", (?=-)", call)


def _paragraphs(texts: Iterable[str]) -> list[str]:
    """Return distinct paragraphs of texts."""
    parts = [part for text in texts for part in inspect.cleandoc(text).split("\n\n")]
    return list(dict.fromkeys(parts))
