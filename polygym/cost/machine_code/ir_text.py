"""Functions of LLVM IR as values: blocks, instructions, branches, loops, from the text of a module.

llvmlite shows no predicates of comparisons and no loops, so the text is read. Only what LLVM's
printer writes has to be understood: one instruction a line, but for ``switch``.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

_FUNCTION = re.compile(r"^define [^@]*@(?P<name>[-\w.$]+|\"[^\"]+\")\((?P<arguments>.*)\)")
_LABEL = re.compile(r"^(?P<name>[-\w.$]+|\"[^\"]+\"):")
_RESULT = re.compile(r"^\s+(?:%(?P<name>[-\w.$]+|\"[^\"]+\") = )?(?P<rest>.+)$")
_ARGUMENT = re.compile(r"%([-\w.$]+|\"[^\"]+\")(?:,|$)")
_TARGET = re.compile(r"label %([-\w.$]+|\"[^\"]+\")")
_INCOMING = re.compile(r"\[ ([^\[\]]+?), %([-\w.$]+|\"[^\"]+\") \]")
_PREFIXES = ("tail ", "musttail ", "notail ")
_METADATA = re.compile(r", !\w+ !\d+.*$")


@dataclass(frozen=True, slots=True)
class Instruction:
    """An instruction: the name of its result ("" without one), its opcode, the text behind that."""

    name: str
    opcode: str
    rest: str


@dataclass(frozen=True, slots=True)
class PhiNode:
    """A phi: its type, and its values by the blocks that they come from."""

    name: str
    type: str
    incoming: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class BasicBlock:
    """A basic block; ``condition`` decides between two successors, "" where nothing is known."""

    name: str
    phis: tuple[PhiNode, ...]
    body: tuple[Instruction, ...]
    condition: str
    successors: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Function:
    """A function: its arguments, and its blocks by name, the entry first."""

    name: str
    arguments: tuple[str, ...]
    blocks: dict[str, BasicBlock] = field(hash=False)


def read_functions(text: str) -> dict[str, Function]:
    """Return the functions that a module defines."""
    result: dict[str, Function] = {}
    lines = iter(text.splitlines())
    for line in lines:
        if (head := _FUNCTION.match(line)) is not None:
            arguments = tuple(_ARGUMENT.findall(_without_attributes(head["arguments"])))
            blocks = {block.name: block for block in _blocks(lines)}
            result[head["name"]] = Function(head["name"], arguments, blocks)
    return result


def _without_attributes(arguments: str) -> str:
    """Return the text of arguments without brackets, whose commas part nothing."""
    while (shorter := re.sub(r"\([^()]*\)", "", arguments)) != arguments:
        arguments = shorter
    return arguments


def _blocks(lines: Iterator[str]) -> Iterator[BasicBlock]:
    """Yield the blocks of a function, up to its closing brace."""
    name, body = "", list[Instruction]()
    for line in lines:
        if line == "}":
            break
        if (label := _LABEL.match(line)) is not None:
            if body:
                yield _block(name, body)
            name, body = label["name"], []
            continue
        if not line.strip() or line.lstrip().startswith(";"):
            continue
        if line.lstrip().startswith("switch"):
            while "]" not in line:
                line += " " + next(lines)
        if (result := _RESULT.match(_METADATA.sub("", line))) is not None:
            rest = result["rest"]
            for prefix in _PREFIXES:
                rest = rest.removeprefix(prefix)
            opcode, _, rest = rest.partition(" ")
            body.append(Instruction(result["name"] or "", opcode, rest))
    if body:
        yield _block(name, body)


def _block(name: str, instructions: list[Instruction]) -> BasicBlock:
    phis = tuple(
        PhiNode(
            instruction.name,
            instruction.rest.partition(" [")[0].strip(),
            tuple((source, value) for value, source in _INCOMING.findall(instruction.rest)),
        )
        for instruction in instructions
        if instruction.opcode == "phi"
    )
    last = instructions[-1]
    successors = tuple(_TARGET.findall(last.rest)) if last.opcode in ("br", "switch") else ()
    condition = ""
    if last.opcode == "br" and len(successors) == 2:
        condition = last.rest.partition(",")[0].removeprefix("i1 ").strip()
    body = tuple(each for each in instructions if each.opcode not in ("phi", "br", "switch", "ret"))
    return BasicBlock(name or "entry", phis, body, condition, successors)
