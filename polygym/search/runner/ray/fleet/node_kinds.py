"""Of which kind a node is: what decides how fast code is there, and who says so.

Times of two kinds are never compared and never stored under one key. A kind is the machine's
fingerprint (processor, features, caches, cores, LLVM) and the policy by which the system chooses
the processor's frequency. A node also says which polygym it has, by the text of its sources: other
sources may choose other schedules, or generate other code.

For trials on one machine a node may pretend to be of another kind. It says so: the name of its
processor then ends with ``(pretending to be NAME)``, so nothing that is stored takes it for real.
"""

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from functools import cache
from typing import Any

import polybench
from polygym.errors import InputError
from polygym.pickling import pickle_by_name
from polygym.runtime.evaluation.fingerprint import MachineFingerprint, machine_fingerprint
from polygym.runtime.worker.timing import describe_host
from polygym.version import PACKAGE

PRETEND_VARIABLE = "POLYGYM_PRETEND_MACHINE"
"""The environment variable by which a node pretends to be of another kind."""


@pickle_by_name
@dataclass(frozen=True, slots=True)
class NodeKind:
    """A kind of node; ``governor`` is the frequency policy, "" where the system does not say."""

    machine: MachineFingerprint
    governor: str = ""

    @property
    def key(self) -> str:
        """A short name that is the same for nodes that are alike."""
        text = json.dumps([self.machine.key, self.governor])
        return hashlib.sha256(text.encode()).hexdigest()[:12]

    def __str__(self) -> str:
        """Return it for people."""
        policy = f", {self.governor}" if self.governor else ""
        return f"{self.machine.processor}, {self.machine.cores} cores{policy} ({self.key})"

    def to_json(self) -> dict[str, Any]:
        """Return plain data; :func:`node_kind_from_json` reads it back."""
        return {**asdict(self.machine), "governor": self.governor}


def node_kind_from_json(data: Mapping[str, Any]) -> NodeKind:
    """Return the kind that :meth:`NodeKind.to_json` wrote.

    Raises:
        InputError: it did not.
    """
    try:
        machine = MachineFingerprint(
            str(data["processor"]),
            str(data["features"]),
            int(data["cores"]),
            tuple(str(text) for text in data["caches"]),
            str(data["llvm"]),
        )
        return NodeKind(machine, str(data["governor"]))
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(
            "the kind of a node: expected what polygym writes, found something else "
            f"({type(error).__name__}: {error})"
        ) from None


def this_node_kind() -> NodeKind:
    """Return the kind of this machine, or the one that it pretends to be."""
    machine = machine_fingerprint()
    if name := os.environ.get(PRETEND_VARIABLE, ""):
        machine = replace(machine, processor=f"{machine.processor} (pretending to be {name})")
    return NodeKind(machine, describe_host().governor)


@cache
def source_digest() -> str:
    """Return a fingerprint of the text of polygym and its suite, as they are installed here."""
    result = hashlib.sha256()
    for root in (PACKAGE, PACKAGE.parent / polybench.__name__):
        for path in sorted(root.rglob("*.py")):
            result.update(f"{path.relative_to(root)}\n".encode())
            result.update(path.read_bytes())
    return result.hexdigest()[:12]
