"""The table of C constructs is true: each example is accepted, or refused with its message."""

from pathlib import Path

import pytest

from docs.site.c_constructs import (
    TABLE,
    Construct,
    ConstructStatus,
    read_constructs,
    with_message,
)
from docs.site.reference.c_constructs import c_constructs_page
from polygym.errors import InputError
from polygym.frontend.c import parse_text

CONSTRUCTS = read_constructs()
BY_STATUS = {
    status: [pytest.param(one, id=one.name) for one in CONSTRUCTS if one.status is status]
    for status in ConstructStatus
}


@pytest.mark.parametrize("construct", BY_STATUS[ConstructStatus.ACCEPTED])
def test_accepted_constructs_have_statements(construct: Construct) -> None:
    assert parse_text(construct.example, file=construct.file).statements


@pytest.mark.parametrize("construct", BY_STATUS[ConstructStatus.REFUSED])
def test_refused_constructs_have_their_message(
    construct: Construct, request: pytest.FixtureRequest
) -> None:
    with pytest.raises(InputError) as caught:
        parse_text(construct.example, file=construct.file)
    if request.config.getoption("--update-golden"):
        TABLE.write_text(with_message(TABLE.read_text(), construct, str(caught.value)))
        return
    assert str(caught.value) == construct.message
    assert construct.message.startswith(f"{construct.file}:"), "a message has a line and a column"


def test_names_are_unique_and_each_example_has_a_region() -> None:
    names = [construct.name for construct in CONSTRUCTS]
    assert sorted(set(names)) == sorted(names)
    assert all("scop" in construct.example for construct in CONSTRUCTS)
    assert len(BY_STATUS[ConstructStatus.ACCEPTED]) >= 40
    assert len(BY_STATUS[ConstructStatus.REFUSED]) >= 25


def test_the_page_has_every_construct() -> None:
    text = c_constructs_page()
    for construct in CONSTRUCTS:
        assert f'"{construct.name}' in text
        assert construct.example.splitlines()[0] in text
        assert not construct.message or construct.message.splitlines()[0] in text


def test_a_message_of_an_accepted_construct_is_refused(tmp_path: Path) -> None:
    table = tmp_path / "table.toml"
    row = {"group": "g", "name": "n", "status": "accepted", "example": "e", "message": "m"}
    table.write_text("[[construct]]\n" + "".join(f"{key} = '{row[key]}'\n" for key in row))
    with pytest.raises(ValueError, match=r"table.toml: n: expected a message for refused"):
        read_constructs(table)


def test_messages_can_be_replaced(tmp_path: Path) -> None:
    table = tmp_path / "table.toml"
    for construct in CONSTRUCTS:
        if construct.status is ConstructStatus.REFUSED:
            table.write_text(with_message(TABLE.read_text(), construct, "another\nmessage"))
            changed = {one.name: one.message for one in read_constructs(table)}
            before = {one.name: one.message for one in CONSTRUCTS}
            assert changed == {**before, construct.name: "another\nmessage"}
