"""Choice of the vector loop and the copied loop around a sum: the fewest cycles.

For ``O[n, f, x] += I[n, c, x + q] * K[f, c, q]``, summed over c and q, there are two ways. Along x
what is read and written is contiguous, and copies along f share the vectors of I. Along f the
weights have to be turned in a copy, and the elements of O are far apart in memory; but they are
stored once, after all terms, and where x runs over 5 elements and f over 32, vectors of 16 are full
that way: a step takes 5 cycles for 160 elements, and 17 along x.

Along f elements of I are spread, and x and x + q overlap: LLVM, which unrolls the few iterations of
q, keeps in registers what neighbours share. Where there are only 16, a block leaves some for that;
one that does not (4 rows of 3 vectors, 16 registers) runs half as fast, since sums are spilled. And
the weights of a long sum come from the level 2 cache for every block of rows, so there a few rows
of many vectors are slower than their arithmetic.

What does not stay in that cache is read again in every iteration of a loop outside that does not
move it. Along x, with a loop over rows of the image outside, those are all weights: 2.4 MB for each
of 14 rows of 256 channels with 9 taps, 20 cycles an element beside 88 of arithmetic. Along f they
are copied, and a tile of them stays for all rows.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import prod

from polygym.codegen.tree.analysis import default_sizes
from polygym.codegen.tree.analysis.access_strides import AccessStrides, StrideKind, shares_vectors
from polygym.ir.scop import Statement
from polygym.mapping.machine import Machine
from polygym.mapping.tuning_parameters import TUNING


@dataclass(frozen=True)
class VectorChoice:
    """Which loop runs in vectors, which in copies, how many, and the cycles for an element."""

    vector: int
    jammed: int | None
    copies: default_sizes.RegisterBlock
    cycles: float


@dataclass(frozen=True)
class ReadFootprint:
    """The bytes that a read touches: in the sum for one element, and of its ``array`` at most.

    What neighbouring elements share, x + q with x and q, is counted for each.
    """

    column: int
    array: int


@dataclass(frozen=True)
class ReductionShape:
    """A statement with independent loops: their ``access_strides`` and their trip counts.

    Each element is a sum of ``terms``, and lives in a register meanwhile if it is ``held``; vectors
    have so many bytes. ``footprints`` has one for each read, or nothing where that does not matter.
    """

    statement: Statement
    access_strides: tuple[AccessStrides, ...]
    lengths: tuple[int, ...]
    terms: int
    is_replaced: bool
    vector_bytes: int
    footprints: tuple[ReadFootprint, ...]

    @property
    def column(self) -> int:
        """The bytes that the sum reads for one vector."""
        return max(1, self.terms) * self.vector_bytes

    def vectors_in_cache(self, machine: Machine) -> int:
        """Return for how many vectors what the sum reads fits half of the level 2 cache.

        One vector alone may have three quarters: it is read from there again for every row.
        """
        is_one_fit = self.column <= machine.level_2 * 3 // 4
        return machine.level_2 // 2 // self.column or int(is_one_fit)

    def scattered_loops(self) -> Iterator[int]:
        """Yield loops along which vectors can be loaded, though what is written is far apart."""
        for place in range(len(self.access_strides)):
            others = self._other_strides(place)
            far = self.is_replaced and self.access_strides[place].write is StrideKind.OTHER
            if far and StrideKind.OTHER not in others and StrideKind.UNIT in others:
                yield place

    def choice(self, vector: int, width: int, machine: Machine) -> VectorChoice:
        """Return what there is to do if a loop runs in vectors of so many elements.

        Of what is turned in a copy every element counts once for all the iterations that read it.
        """
        jammed = self._loop_to_jam(vector) if self.is_replaced else None
        rows = 1 if jammed is None else self.lengths[jammed]
        columns = self.lengths[vector]
        shared = jammed is not None and shares_vectors(
            self.access_strides[jammed], self.access_strides[vector]
        )
        scattered = self.access_strides[vector].write is StrideKind.OTHER
        most = max(1, min(TUNING.max_vectors, self.vectors_in_cache(machine)))
        is_tight = scattered and machine.registers < TUNING.many_registers
        is_long = is_tight and self.column > TUNING.level_1_bytes
        load = TUNING.level_2_cycles * self.vector_bytes / 32 if is_long else 0.0
        spare = TUNING.spare_registers if is_tight else 0
        copies = default_sizes.reduction_block(
            rows, columns, width, machine, shared=shared, most=most, spare=spare, load=load
        )
        cycles = self.terms * default_sizes.block_cycles(
            copies, rows, columns, width, shared=shared, load=load
        )
        cycles += default_sizes.store_cycles(rows, columns, width, scattered=scattered)
        copying = sum(
            self.terms * TUNING.copy_cycles / self._reuse_count(read)
            for read in self.access_strides[vector].transposed_reads
        )
        choice = VectorChoice(vector, jammed, copies, cycles / max(1, rows * columns) + copying)
        far = self._reloaded_bytes(choice, width, machine.level_2 // 2) / max(1, prod(self.lengths))
        return replace(choice, cycles=choice.cycles + far / TUNING.memory_bytes_per_cycle)

    def _reloaded_bytes(self, choice: VectorChoice, width: int, cache: int) -> float:
        """Return the bytes that are read once more since they have not stayed in the cache.

        What is turned is left out, since it has tiles that stay, and so are the tiles: that what is
        not turned is read for each of them is not counted.
        """
        turned, again = self.access_strides[choice.vector].transposed_reads, 0.0
        for read, footprint in enumerate(self.footprints):
            if self._is_own_element(read) or read in turned:
                continue
            size = min(footprint.column, footprint.array)
            traffic = float(size)
            for place, times in self._loops_inside_out(choice, width):
                if self.access_strides[place].reads[read] is not StrideKind.ZERO:
                    more = min(footprint.array, size * max(1, self.lengths[place]))
                    traffic, size = traffic * more / max(1, size), more
                elif size > cache:
                    traffic *= times
            again += traffic - size if size > cache else 0.0
        return again

    def _loops_inside_out(self, choice: VectorChoice, width: int) -> Iterator[tuple[int, int]]:
        """Yield the loops from the innermost one out, with how many blocks each has."""
        yield (
            choice.vector,
            -(-self.lengths[choice.vector] // (width * choice.copies.vector_copies)) or 1,
        )
        if choice.jammed is not None:
            yield choice.jammed, -(-self.lengths[choice.jammed] // choice.copies.unroll_jam) or 1
        others = [p for p in range(len(self.lengths)) if p not in (choice.vector, choice.jammed)]
        again = self.reloading_loops(choice.vector)
        for place in reversed(sorted(others, key=lambda place: place in again)):
            yield place, max(1, self.lengths[place])

    def _is_own_element(self, read: int) -> bool:
        return self.is_replaced and read in self.statement.accumulator_reads

    def reloading_loops(self, vector: int) -> frozenset[int]:
        """Return the loops that need the same vectors in every iteration."""
        along = self._other_strides(vector)
        return frozenset(
            place
            for place in range(len(self.access_strides))
            if all(
                move is StrideKind.ZERO
                for move, there in zip(self._other_strides(place), along, strict=True)
                if there is StrideKind.UNIT
            )
        )

    def _other_strides(self, place: int) -> list[StrideKind]:
        """Return the moves of what is not in registers anyway."""
        reads = self.access_strides[place].reads
        return [move for number, move in enumerate(reads) if not self._is_own_element(number)]

    def _reuse_count(self, read: int) -> int:
        """Return how many iterations read the same element."""
        staying = zip(self.lengths, self.access_strides, strict=True)
        return prod(max(1, n) for n, moves in staying if moves.reads[read] is StrideKind.ZERO)

    def _loop_to_jam(self, vector: int) -> int | None:
        """Return the loop whose iterations share most of what vectors are loaded for."""
        best, most = None, 0
        for place, moves in enumerate(self.access_strides):
            if place == vector:
                continue
            pairs = zip(self.access_strides[vector].reads, moves.reads, strict=True)
            shared = [
                along is StrideKind.UNIT for along, across in pairs if across is StrideKind.ZERO
            ]
            # A vector that is shared saves as much as many single elements.
            gain = len(shared) + 8 * sum(shared)
            if gain >= max(most, 1):
                best, most = place, gain
        return best


def choose_vector_loop(
    shape: ReductionShape,
    default_vector: int | None,
    coincident: Sequence[bool],
    width: int,
    machine: Machine,
) -> VectorChoice | None:
    """Return the way with the fewest cycles; None where no loop can run in vectors.

    ``default_vector`` is the loop along which everything is contiguous, if there is one.
    """
    places = [default_vector] if default_vector is not None else []
    places += [place for place in shape.scattered_loops() if coincident[place]]
    ways = (shape.choice(place, width, machine) for place in places)
    return min(ways, key=lambda choice: choice.cycles, default=None)
