"""Memory of programs: shared copies that they cannot write, private ones that they can.

Three kinds of memory hold the buffers of a problem, all taken directly from the kernel:

* :class:`SharedBuffers`: one copy of every buffer in memory that the supervisor shares with the
  runners it forks. The initial data, the expected outputs and the kept results are three such
  sets. They are read-only in every process, and made writable only while no generated code is
  running, so that a wild write ends in a signal and cannot falsify a comparison. Memory is taken
  for what is written to a set, not for the rest.
* :class:`ReadOnlyBuffers`: what no program may write. The supervisor has the one copy of it, which
all
  runners inherit: without writes the kernel never copies a page.
* :class:`WorkingBuffers`: the private memory of one runner, on which the generated code works,
filled
  anew before every run. What is held is not in it.

A buffer A that is only read, one B that is written and compared, and one T that is written only,
take A + 3 B + 2 T: A held, B initial, expected and working, T initial and working. The initial data
are made in a working set, moved to a shared one, and what is held moves on from there. Whatever
moves does so by CHUNK bytes at a time, and a chunk's pages are given back as soon as it is copied:
until then that chunk, and no more, is there twice.

In a working set and in a held one every buffer stands between two guard pages that can be neither
read nor written, close below the upper one, and the bytes beside a buffer that can be written hold
a pattern that is checked after the run. Three things about addresses keep times comparable:

* Beginnings are multiples of a cache line, 64 bytes.
* They are *staggered*: two arrays whose addresses are equal modulo 4096 make a load wait for a
  store to the other one at the same subscript (4K aliasing), so the n beginnings are spread
  evenly over a page. Example: with four buffers they are at 0, 1024, 2048, 3072 modulo 4096.
* A buffer of 256 KiB or more lies in whole blocks of 2 MiB, for which the kernel is asked to use
  huge pages: otherwise which physical pages a process happens to get, and so which lines compete
  for a place in the second-level cache, would differ from runner to runner.
"""

from __future__ import annotations

import mmap
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from polygym.errors import ForeignCallError
from polygym.foreign.calls import memory_view
from polygym.foreign.libc import (
    advise_huge_pages,
    copy_bytes,
    drop_pages,
    drop_shared_pages,
    fill_bytes,
    map_memory,
    protect,
    unmap_memory,
)

CHUNK = 64 * 1024 * 1024
"""How many bytes of a buffer are there twice, at most, while it moves from one set to another."""

_PAGE = mmap.PAGESIZE
_LINE = 64
_HUGE = 2 * 1024 * 1024
_LARGE = 256 * 1024
_PROTECTION_NONE = 0
_READ = mmap.PROT_READ
_READ_WRITE = mmap.PROT_READ | mmap.PROT_WRITE
_PATTERN = 0xA5


def round_up(value: int, step: int) -> int:
    """Return the smallest multiple of ``step`` that is not below ``value``.

    >>> round_up(5000, 4096)
    8192
    """
    return -(-value // step) * step


def _chunks(size: int) -> Iterator[tuple[int, int]]:
    """Yield offset and length of the parts in which a buffer moves.

    >>> list(_chunks(CHUNK + 5)) == [(0, CHUNK), (CHUNK, 5)]
    True
    """
    for offset in range(0, size, CHUNK):
        yield offset, min(CHUNK, size - offset)


class SharedBuffers:
    """One copy of every buffer, shared with the processes forked from now on, and read-only."""

    def __init__(self, sizes: Sequence[int]) -> None:
        """Map zeroed memory; physical memory is taken when it is first written.

        Raises:
            MemoryError: the kernel refuses.
        """
        self._sizes = tuple(sizes)
        self._offsets: list[int] = []
        self._length = 0
        for size in sizes:
            self._offsets.append(self._length)
            self._length += round_up(max(size, 1), _PAGE)
        self._length = max(self._length, _PAGE)
        self._base = map_memory(self._length, _READ, mmap.MAP_SHARED)

    @property
    def length(self) -> int:
        """The bytes of address space that the set takes."""
        return self._length

    def address(self, index: int) -> int:
        """Return where a buffer begins."""
        return self._base + self._offsets[index]

    def view(self, index: int) -> memoryview:
        """Return a buffer's contents where they are: they can be sent on without a copy.

        The view ends with the set.
        """
        return memory_view(self.address(index), self._sizes[index])

    def publish(self, working: WorkingBuffers, indices: Sequence[int]) -> None:
        """Copy these buffers out of a working set, for all processes to see."""
        with self._writable():
            for index in indices:
                copy_bytes(self.address(index), working.addresses[index], self._sizes[index])

    def move_from(self, working: WorkingBuffers) -> None:
        """Move all buffers here from a working set, in which they are zero from then on."""
        with self._writable():
            for index, size in enumerate(self._sizes):
                for offset, length in _chunks(size):
                    start = working.addresses[index] + offset
                    copy_bytes(self.address(index) + offset, start, length)
                    working.drop(index, offset + length)

    def move_to(self, index: int, target: int) -> None:
        """Move one buffer to another address; from then on it is not read here."""
        with self._writable():
            for offset, length in _chunks(self._sizes[index]):
                start = self.address(index) + offset
                copy_bytes(target + offset, start, length)
                # A kernel may not be able to do it (gVisor): then it takes more memory, no more.
                with suppress(ForeignCallError):
                    drop_shared_pages(start, round_up(length, _PAGE))

    @contextmanager
    def _writable(self) -> Iterator[None]:
        """Let this process write to the set, while it runs no generated code."""
        protect(self._base, self._length, _READ_WRITE)
        try:
            yield
        finally:
            protect(self._base, self._length, _READ)

    def close(self) -> None:
        """Unmap the memory; the set cannot be used any more."""
        unmap_memory(self._base, self._length)


@dataclass(frozen=True, slots=True)
class BufferPlacement:
    """Where a buffer lies in a working set, as offsets from the set's first byte.

    ``[begin, end)`` are whole pages that can be written, guards lie on both sides of them; the
    buffer itself is ``[start, start + size)`` inside.
    """

    begin: int
    end: int
    start: int
    size: int


def place_buffers(sizes: Sequence[int]) -> tuple[BufferPlacement, ...]:
    """Lay buffers out with guards, alignment and stagger (the module's docstring says how).

    >>> [(p.begin, p.start, p.end) for p in place_buffers([4096, 8])]
    [(4096, 4096, 8192), (12288, 14336, 16384)]
    """
    placements = []
    end = 0
    for index, size in enumerate(sizes):
        block = _HUGE if size >= _LARGE else _PAGE
        stagger = _LINE * (index * (_PAGE // _LINE) // len(sizes))
        begin = round_up(end + _PAGE, block)
        end = begin + round_up(max(stagger + size, 1), block)
        spare_pages = (end - begin - stagger - size) // _PAGE
        placements.append(BufferPlacement(begin, end, begin + stagger + spare_pages * _PAGE, size))
    return tuple(placements)


def address_space_needed(sizes: Sequence[int]) -> int:
    """Return the bytes of address space that a working set of these sizes takes."""
    placements = place_buffers(sizes)
    return round_up((placements[-1].end if placements else 0) + _PAGE, _PAGE)


def _reserve_buffers(sizes: Sequence[int], indices: Iterable[int]) -> int:
    """Lay buffers out, make those with these indices writable, and return where all begins."""
    length = address_space_needed(sizes)
    somewhere = map_memory(length + _HUGE, _PROTECTION_NONE, mmap.MAP_PRIVATE)
    base = round_up(somewhere, _HUGE)
    for begin, end in ((somewhere, base), (base + length, somewhere + length + _HUGE)):
        if end > begin:
            unmap_memory(begin, end - begin)
    placements = place_buffers(sizes)
    for index in indices:
        placement = placements[index]
        address, extent = base + placement.begin, placement.end - placement.begin
        protect(address, extent, _READ_WRITE)
        if placement.size >= _LARGE:
            advise_huge_pages(address, extent)
    return base


class ReadOnlyBuffers:
    """The buffers that no program may write, for this process and those that it forks."""

    def __init__(self, sizes: Sequence[int], indices: Collection[int]) -> None:
        """Map the memory for the buffers with these numbers; ``sizes`` are those of all.

        Raises:
            MemoryError: the kernel refuses.
        """
        self._sizes = tuple(sizes)
        self._placements = place_buffers(sizes)
        self._base = _reserve_buffers(sizes, indices)
        self.addresses = {index: self._base + self._placements[index].start for index in indices}

    def move_from(self, source: SharedBuffers) -> None:
        """Move the buffers here from a shared set, which has them no longer."""
        for index, address in self.addresses.items():
            placement = self._placements[index]
            source.move_to(index, address)
            protect(self._base + placement.begin, placement.end - placement.begin, _READ)

    def view(self, index: int) -> memoryview:
        """Return a buffer's contents where they are; the view ends with the set."""
        return memory_view(self.addresses[index], self._sizes[index])

    def close(self) -> None:
        """Unmap the memory; the set cannot be used any more."""
        unmap_memory(self._base, address_space_needed(self._sizes))


class WorkingBuffers:
    """One private, guarded, writable copy of every buffer that is not held."""

    def __init__(self, sizes: Sequence[int], read_only: ReadOnlyBuffers | None = None) -> None:
        """Map the memory; ``addresses`` says where each buffer begins, those that are held too.

        Raises:
            MemoryError: the kernel refuses.
        """
        elsewhere = {} if read_only is None else read_only.addresses
        self._placements = place_buffers(sizes)
        self._own = [index for index in range(len(sizes)) if index not in elsewhere]
        self._base = _reserve_buffers(sizes, self._own)
        for index in self._own:
            for margin, extent in self._margins(self._placements[index]):
                fill_bytes(margin, _PATTERN, extent)
        self.addresses = tuple(
            elsewhere.get(index, self._base + placement.start)
            for index, placement in enumerate(self._placements)
        )

    def restore(self, source: SharedBuffers) -> None:
        """Fill every buffer from a shared set, but for those that are held."""
        for index in self._own:
            copy_bytes(self.addresses[index], source.address(index), self._placements[index].size)

    def drop(self, index: int, extent: int) -> None:
        """Give back the memory of a buffer's first bytes, which are zero from then on.

        Where that is not all of it, the last page or huge page of these may stay as it is.
        """
        placement = self._placements[index]
        begin, end = placement.begin, placement.end
        if extent < placement.size:
            end = begin + (placement.start + extent - begin) // _HUGE * _HUGE
        if end > begin:
            drop_pages(self._base + begin, end - begin)

    def overrun(self, index: int) -> int | None:
        """Return the first byte beside a buffer that was overwritten, counted from its start."""
        if index not in self._own:  # no program could write there
            return None
        for margin, extent in self._margins(self._placements[index]):
            contents = bytes(memory_view(margin, extent))
            kept = len(contents) - len(contents.lstrip(bytes([_PATTERN])))
            if kept < extent:
                return margin + kept - self.addresses[index]
        return None

    def _margins(self, placement: BufferPlacement) -> tuple[tuple[int, int], tuple[int, int]]:
        """Return address and length of the pattern before and after a buffer."""
        before = min(placement.start - placement.begin, _PAGE)
        tail = placement.start + placement.size
        return (
            (self._base + placement.start - before, before),
            (self._base + tail, placement.end - tail),
        )
