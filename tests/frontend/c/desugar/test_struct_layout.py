"""Layouts of structures are those of gcc."""

from __future__ import annotations

import random
import subprocess
from pathlib import Path

import pytest
from pycparser import c_ast

from polygym.frontend.c.desugar.struct_layout import MemberPlace, StructLayouts
from polygym.frontend.c.source import syntax
from polygym.frontend.c.source.parser import parse_cached, preprocess_cached

_TYPES = """
enum { FOUR = 4, FIVE, HALF = FOUR / 2 };
typedef enum { RED, GREEN } colour;
typedef short halves[3];
union number { char text[5]; int whole; double real; };
struct inner { char tag; float w[2]; };
"""
_SCALARS = [
    "char", "unsigned short", "int", "long", "float", "double", "_Bool", "colour", "halves",
    "void *", "double **", "union number", "struct inner", "long double", "double _Complex",
    "struct { short a; char b; }", "const unsigned", "int64_t", "size_t",
]  # fmt: skip
_SIZES = ["", "[3]", "[FOUR]", "[FIVE - HALF]", "[2][FOUR + 1]", "[1 << 2]"]
_BITS = ["int {}: 3", "unsigned {}: 17", "char {}: 5", "long {}: 40", "unsigned : 0", "int : 7"]


def layouts_of(text: str) -> tuple[StructLayouts, dict[str, c_ast.Struct]]:
    source = preprocess_cached(f"#include <stdint.h>\n#include <stddef.h>\n{text}", "types.c")
    tree = parse_cached(source)
    return StructLayouts(tree, source), syntax.structures_of(tree)


def _random_structure(rng: random.Random, name: str) -> tuple[str, list[str]]:
    members, named = [], []
    for number in range(rng.randrange(1, 7)):
        member = f"m{number}"
        if rng.random() < 0.25:
            members.append(rng.choice(_BITS).format(member))
            continue
        members.append(f"{rng.choice(_SCALARS)} {member}{rng.choice(_SIZES)}")
        named.append(member)
    return f"struct {name} {{ {'; '.join(members)}; }};", named


def test_random_structures_as_gcc_has_them(tmp_path: Path) -> None:
    rng = random.Random(5)
    made = {f"s{k}": _random_structure(rng, f"s{k}") for k in range(300)}
    text = _TYPES + "\n".join(structure for structure, _ in made.values())
    prints = [
        f'printf("{name} %zu{" %zu" * len(members)}\\n", sizeof(struct {name})'
        + "".join(f", offsetof(struct {name}, {member})" for member in members)
        + ");"
        for name, (_, members) in made.items()
    ]
    program = tmp_path / "layouts"
    code = f"#include <stdint.h>\n#include <stddef.h>\n#include <stdio.h>\n{text}\n"
    code += f"int main(void) {{ {' '.join(prints)} }}"
    command = ["gcc", "-w", "-xc", "-", "-o", str(program)]
    subprocess.run(command, input=code, text=True, check=True)
    lines = subprocess.run([program], capture_output=True, text=True, check=True).stdout
    layouts, structures = layouts_of(text)
    checked = 0
    for line in lines.splitlines():
        name, size, *offsets = line.split()
        for member, offset in zip(made[name][1], offsets, strict=True):
            place = layouts.place(structures[name], (member,))
            assert place is not None
            assert (place.size, place.offset) == (int(size), int(offset)), made[name][0]
            checked += 1
    assert checked > 500


def test_members_in_arrays_of_structures() -> None:
    layouts, structures = layouts_of(
        "struct s { int id; struct { double a, v[3]; } cells[4]; char c; } x;"
    )
    place = layouts.place(structures["s"], ("cells", "v"))
    assert place == MemberPlace(144, 16, (32, 8), (4, 3))
    assert place.at((2, 1)) == 88


@pytest.mark.parametrize("member", ["struct hidden h", "double v[unknown]", "int b : unknown"])
def test_unknown_layouts(member: str) -> None:
    layouts, structures = layouts_of(f"extern int unknown; struct s {{ int a; {member}; }};")
    assert layouts.place(structures["s"], ("a",)) is None
