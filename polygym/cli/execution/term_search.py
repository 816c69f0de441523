"""``polygym optimize`` of a term: rewriting, then schedules, one budget and one clock.

The folder of the search gets ``NAME.c``, the C file of the form that is scheduled, of which
``best.json`` speaks, and ``rewriting.json``, the forms that were timed and the derivation.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from polygym.cli.options.values import read_small_file
from polygym.cli.output import console
from polygym.errors import InputError
from polygym.files import create_folder, create_numbered_folder, write_atomically
from polygym.mdp.records import episode_record
from polygym.programs import load_program
from polygym.search.folder import BEST_FILE, JOURNAL_FILE, expect_no_search
from polygym.terms.code.c_file import c_file
from polygym.terms.language.parser import parse_program
from polygym.terms.language.program import TermProgram
from polygym.terms.scheduling.rewriting_stage import RewritingStage, rewrite_first
from polygym.terms.scheduling.schedule_check import check_schedule

REWRITING_FILE = "rewriting.json"


@dataclass(frozen=True, slots=True)
class TermRequest:
    """The term of a command line, its sizes, and how much the whole search may take."""

    file: str
    c_target: str
    definition: str | None
    dataset: Any
    parameters: dict[str, int]
    budget: int
    time_limit: float | None
    out: Path | None
    is_resumed: bool


@dataclass(frozen=True, slots=True)
class TermSearch:
    """A term after rewriting: the folder, the C file to schedule, and what is left to spend."""

    program: TermProgram
    record: dict[str, Any]
    folder: Path
    budget: int
    time_limit: float | None

    @property
    def c_path(self) -> Path:
        """The C file of the form that is scheduled."""
        return _c_path(self.folder, self.program)

    def checked(self, result: console.CommandResult, *, as_json: bool) -> console.CommandResult:
        """Compare the best schedule with the interpreter, and add what there is to say."""
        at = self._check()
        document = result.document
        if isinstance(document, dict):
            document = {**document, "rewriting": self.record, "interpreter_sizes": at}
        if not as_json:
            self._print(at)
        return replace(result, document=document)

    def _check(self) -> dict[str, int] | None:
        best = self.folder / BEST_FILE
        if not best.exists():
            return None
        name = str(best)
        record = episode_record.read_record(read_small_file(name, "a result"), name)
        played = episode_record.replay_record(record, name, folder=self.folder)
        if played.schedule is None:
            return None
        mapping = played.evaluation_options.mapping
        return check_schedule(self.program, played.program, played.schedule, mapping)

    def _print(self, at: dict[str, int] | None) -> None:
        console.heading("\nTerm")
        for number, its in enumerate(self.record["candidates"]):
            mark = "*" if number == self.record["chosen"] else " "
            shown = its["failure"] or (
                "not timed" if its["seconds"] is None else console.format_seconds(its["seconds"])
            )
            console.write_text(f"{mark} {its['search']:8} cost {its['cost']:<12g} {shown}")
        console.write_text(
            "the best schedule was not compared with the interpreter"
            if at is None
            else f"the best schedule computes what the interpreter does at {_sizes(at)}"
        )
        console.write_text(f"  {self.folder / REWRITING_FILE}")


def _sizes(sizes: dict[str, int]) -> str:
    return console.sizes_text(sizes.items()) or "its one size"


def search_term(request: TermRequest) -> TermSearch:
    """Rewrite a term and write its C file, or go on with the one of a search that is resumed.

    Raises:
        InputError: the term cannot be compiled, or the folder has another search.
    """
    program = _program(request)
    if request.out is not None and request.is_resumed:
        if (request.out / JOURNAL_FILE).exists() and (request.out / REWRITING_FILE).exists():
            return _resumed(request, request.out, program)
    if request.out is not None:
        expect_no_search(request.out)
    loaded = load_program(
        request.c_target,
        function=request.definition,
        dataset=request.dataset,
        parameters=request.parameters,
    )
    own = dict(loaded.parameters)
    integers = [name for name, kind in program.inputs if str(kind) == "Integer"]
    sizes = {name: own[name] for name in integers if name in own}
    with console.spinner(f"rewriting {program.name}"):
        stage = rewrite_first(program, sizes, request.budget, request.time_limit)
    folder = request.out
    if folder is None:
        folder = create_numbered_folder(Path.cwd(), f"polygym-{program.name}")
    else:
        create_folder(folder)
    write_atomically(_c_path(folder, program), c_file([stage.program]).encode())
    text = json.dumps(stage.to_json(), indent=2) + "\n"
    write_atomically(folder / REWRITING_FILE, text.encode())
    return _left(request, folder, stage)


def _left(request: TermRequest, folder: Path, stage: RewritingStage) -> TermSearch:
    """Return the search with what rewriting has left of the budget and the time."""
    budget = max(1, request.budget - len(stage.candidates))
    limit = request.time_limit
    return TermSearch(
        stage.program,
        stage.to_json(),
        folder,
        budget,
        None if limit is None else max(1.0, limit - stage.seconds),
    )


def _resumed(request: TermRequest, folder: Path, program: TermProgram) -> TermSearch:
    path = folder / REWRITING_FILE
    try:
        record = json.loads(read_small_file(str(path), "a record of rewriting", mebibytes=64))
        texts = [str(its["program"]) for its in record["candidates"]]
        source, chosen = (parse_program(texts[at], str(path)) for at in (0, record["chosen"]))
    except (ValueError, KeyError, TypeError, IndexError) as error:
        raise InputError(f"{path}: expected a record of rewriting, found {error!r}") from None
    if source.body is not program.body:
        raise InputError(f"{path}: expected the term of {request.file}, found another one")
    if not _c_path(folder, program).exists():
        raise InputError(f"{_c_path(folder, program)}: expected the C file of the search, none")
    budget = max(1, request.budget - len(texts))
    return TermSearch(chosen, record, folder, budget, request.time_limit)


def _program(request: TermRequest) -> TermProgram:
    text = read_small_file(request.file, "terms")
    return parse_program(text, request.file, request.definition)


def _c_path(folder: Path, program: TermProgram) -> Path:
    name = "".join(letter if letter.isalnum() else "_" for letter in program.name)
    return folder / f"{name}.c"
