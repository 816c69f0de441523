"""Signatures of kernels: what a launch hands over, in order."""

from dataclasses import dataclass

from polygym.pickling import pickle_by_name


@pickle_by_name
@dataclass(frozen=True, slots=True)
class KernelSignature:
    """The arguments of a kernel.

    First the addresses of ``arrays``, then the values of ``variables`` (parameters, counters of
    loops on the host) as 64-bit integers, then, where the kernel checks subscripts, the address of
    a 32-bit note. A launch asks for ``shared`` bytes of memory that the threads of a block share.
    """

    name: str
    block: tuple[int, int, int]
    arrays: tuple[str, ...]
    variables: tuple[str, ...]
    takes_note: bool
    shared: int
