"""Table of C constructs: what the front end accepts and refuses, each with an example.

``c_constructs.toml`` has the rows. A test reads every example with the front end: accepted ones
give a Scop, refused ones give exactly the message of the row.
"""

import re
import tomllib
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

TABLE = Path(__file__).with_suffix(".toml")
FILE_NAME = "example.c"
"""The name of the example's file in messages, unless the row has another."""


class ConstructStatus(Enum):
    """Whether the front end reads a construct."""

    ACCEPTED = "accepted"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Construct:
    """A row of the table; ``message`` is the text of the refusal, "" for accepted ones.

    ``file`` is the name of the example's file.
    """

    group: str
    name: str
    status: ConstructStatus
    example: str
    comment: str = ""
    message: str = ""
    file: str = FILE_NAME


def read_constructs(path: Path = TABLE) -> tuple[Construct, ...]:
    """Return the rows of a table.

    Raises:
        ValueError: a row has a message without being refused, or the other way round.
    """
    rows = tomllib.loads(path.read_text(encoding="utf-8"))["construct"]
    constructs = tuple(
        Construct(**{**row, "status": ConstructStatus(row["status"])}) for row in rows
    )
    for construct in constructs:
        if bool(construct.message) != (construct.status is ConstructStatus.REFUSED):
            raise ValueError(
                f"{path.name}: {construct.name}: expected a message for refused constructs alone, "
                f"found status {construct.status.value} and message {construct.message!r}"
            )
    return constructs


def with_message(table: str, construct: Construct, message: str) -> str:
    """Return the text of a table in which a refused construct has another message."""
    name = re.escape(construct.name)
    row = re.compile(
        rf"(name = ['\"]{name}['\"]\n(?:(?!\[\[).*\n)*?message = ''')(?s:.*?)('''(?!'))"
    )
    return row.sub(lambda match: f"{match[1]}\n{message}{match[2]}", table, count=1)
