"""Costs, thresholds and sizes that decide in code generation, beside the machine's description.

Change a value and the same program gets other code; formats and facts of processors are no part of
this. Most values were measured on x86 with AVX2 and AVX-512, on the programs of the test suite.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType


@dataclass(frozen=True, slots=True)
class TuningParameters:
    """The tuning parameters of code generation, grouped by the decision that they serve."""

    # Tiles and loop orders (schedule tree)
    reduction_tile: int = 256
    """Tile along a reduction, in iterations."""
    stencil_tiles: Mapping[int, tuple[int, ...]] = field(
        default_factory=lambda: MappingProxyType({2: (32, 256), 3: (16, 32, 256)})
    )
    """Tiles of a stencil, by the number of its loops."""
    larger_stencil_tiles: Mapping[int, int] = field(
        default_factory=lambda: MappingProxyType({2: 512, 3: 64, 4: 16})
    )
    """Largest second tile of a stencil, by the number of its loops."""
    parallel_tile: int = 64
    """Tile of the rows of a product."""
    max_parallel_tile: int = 256
    """Largest tile of rows of equal work."""
    max_skew: int = 4
    """Steepest row of a band that is tiled."""
    min_skewed_tile: int = 64
    """Smallest last tile with skewed copies."""
    min_tiles_per_thread: int = 4
    """Fewest tiles per thread along whole rows."""
    default_tile: int = 32
    """Tile of any other loop."""
    sink_tile: int = 64
    """Tile of a band whose points sink."""
    term_tile: int = 16
    """Tile before which reduction terms run early."""
    stream_tile: int = 512
    """Tile of a vector loop that only threads need."""
    independent_tile: int = 64
    """Largest tile where independent tiles exist."""
    min_independent_tile: int = 16
    """Step, and half of the smallest, of such tiles."""
    tile_multiple: int = 8
    """Factor of the tiles that threads share."""
    max_streamed_tile: int = 2048
    """Largest tile of a streamed row."""
    max_diamond_slope: int = 4
    """Steepest side of a diamond."""
    max_skew_coefficient: int = 4
    """Largest factor that undoes a skew, for trip counts."""
    max_tile_conditions: int = 4
    """Most conditions that tell tiles apart."""
    recurrence_distances: tuple[int, ...] = (1, 2)
    """Distances of a recurrence along the innermost loop."""
    min_early_tiles: int = 4
    """Fewest tiles along a reduction with early terms."""
    max_early_vectors: int = 2
    """Most vectors of early terms."""

    # Registers and vectors
    max_rows: int = 16
    """Most rows of a register block."""
    max_vectors: int = 6
    """Most vectors of a register block."""
    copy_cycles: int = 1
    """Cycles to copy an element to a transposed tile."""
    many_registers: int = 32
    """Registers from which on blocks are not tight."""
    min_aligned_vectors: int = 16
    """Fewest vectors of a loop whose stores are aligned."""
    spare_registers: int = 3
    """Registers left free in tight blocks."""
    level_2_cycles: float = 1.5
    """Cycles for 32 bytes of the level 2 cache."""
    level_1_bytes: int = 16 << 10
    """Largest column that the level 1 cache keeps."""
    memory_bytes_per_cycle: int = 32
    """Bytes per cycle from beyond the level 2 cache."""
    max_accumulators: int = 4
    """Most accumulators: two loads per term fill four cycles."""
    max_reductions: int = 16
    """Most reductions of a loop that registers hold."""
    max_carried_distance: int = 4
    """Most iterations that a value stays in a register."""
    min_transposed_columns: int = 4
    """Fewest columns that are transposed before a store."""
    max_transposed_columns: int = 16
    """Most lanes of a transposed column."""

    # Threads
    min_parallel_work: int = 16384
    """Fewest statement instances of a loop that threads share."""
    max_reduction_copy_bytes: int = 64 << 20
    """Most bytes of all threads' copies of reduced arrays."""
    min_terms_per_element: int = 4
    """Fewest terms per element of a copy."""
    work_per_vector: int = 2
    """Work of a vector of instances."""
    work_per_copied_element: int = 1
    """Work per element of a thread's copy."""
    dynamic_chunks: int = 16
    """Chunks per thread of a dynamic loop."""
    max_private_bytes: int = 256 << 10
    """Most bytes of private arrays on a thread's stack."""
    max_pooled_bytes: int = 64 << 20
    """Most bytes of a thread's private arrays, with those that are not on its stack."""

    # Packing
    min_reuse: int = 16
    """Fewest reads of an element that is packed."""
    conflict_stride: int = 512
    """Row lengths of a multiple of these bytes conflict in caches."""
    max_packed_bytes: int = 512 << 20
    """Largest array that is packed whole."""
    copy_block: int = 16
    """Side of the blocks in which arrays are transposed."""
    copy_run: int = 256
    """Consecutive elements of a block that is not square."""
    long_loop: int = 64
    """Fewest iterations of a loop whose strides matter."""
    max_tile_block: int = 16
    """Side of the blocks of narrow elements in tiles."""
    max_tile_copies: int = 2
    """Most times that an element is copied to tiles."""
    max_tile_bytes: int = 256 << 10
    """Largest packed tile."""
    max_total_tile_bytes: int = 512 << 10
    """Most bytes of all packed tiles."""

    # Recurrences in lanes
    lane_vectors: int = 2
    """Vectors of rows that run together."""
    operation_latency: int = 4
    """Cycles until an operation's result is ready."""
    division_cycles: int = 5
    """Cycles of a division."""
    vector_division_cycles: int = 10
    """Cycles of a division of vectors."""
    min_lane_gain: float = 1.25
    """Least gain of lanes over jammed rows."""
    min_lane_columns: int = 16
    """Fewest columns of a recurrence in lanes."""
    min_lanes: int = 4
    """Fewest lanes."""
    lane_jam_copies: int = 4
    """Jammed rows to compare with."""
    max_block_columns: int = 256
    """Most columns of a block of rows."""
    prefetched_columns: int = 64
    """Columns of a block that is foreseen."""
    min_block_columns: int = 16
    """Fewest columns of a block, and step."""
    max_prefetched_rows: int = 24
    """Most rows that a processor foresees."""
    lane_level_1_bytes: int = 24 << 10
    """Share of a level 1 cache of 32 KB for row tiles."""
    max_row_tile_bytes: int = 256 << 10
    """Most bytes of all row tiles."""
    min_recurrence_bytes: int = 24 << 10
    """Fewest bytes for one recurrence."""
    max_recurrence_bytes: int = 128 << 10
    """Most bytes for one recurrence, of a level 2 cache of 512 KB."""

    # Skewed copies
    min_diagonal_lanes: int = 4
    """Fewest lanes of a diagonal."""
    max_diagonal_bits: int = 256
    """Widest vectors of a diagonal."""
    min_diagonal_gain: float = 1.25
    """Least gain of skewed copies."""
    skewed_copy_cycles: int = 3
    """Cycles to copy an element to a skewed copy."""
    diagonal_division_cycles: int = 5
    """Cycles of a division, of a number or of a vector."""
    max_skewed_bytes: int = 256 << 10
    """Largest skewed copies of a region."""
    max_total_skewed_bytes: int = 512 << 10
    """Most bytes of all skewed copies."""

    # Streams
    max_touches: float = 1.5
    """Most accesses to an element of a stream, on average."""
    prefetch_bytes: int = 4096
    """Bytes that are prefetched."""
    small_tile_bytes: int = 16 << 10
    """Largest tile that leaves space in the level 1 cache."""

    # Effort: steps of isl, of proofs, of checks
    base_instances: int = 60
    """Statement instances in the text of any loops."""
    instances_per_statement: int = 40
    """Further instances for each statement."""
    mapping_operations: int = 800_000
    """Operations of isl for a mapping."""
    operations_per_dependence: int = 20_000
    """Further operations for each dependence."""
    last_attempt_factor: int = 3
    """Multiple of these for the last attempt."""
    speculation_operations: int = 1_000_000
    """Operations of isl for a speculative read."""
    privatization_operations: int = 5_000_000
    """Operations of isl for a private array."""
    skew_plan_operations: int = 2_000_000
    """Operations of isl for the plan of skewed copies."""
    skew_loop_operations: int = 2_000_000
    """Operations of isl for the loops that copy."""
    disjointness_steps: int = 2_000
    """Steps of a proof that elements differ."""
    max_origin_candidates: int = 6
    """First elements of a footprint that are tried."""
    bounds_steps: int = 10_000
    """Steps of the proofs of bounds."""
    bounds_combinations: int = 3_000
    """Combined inequalities of these proofs."""
    max_observations: int = 40
    """Instances that counters are read off."""
    max_neighbor_seeds: int = 40
    """Instances whose neighbours are checked."""
    max_corners: int = 32
    """Corners of a domain that are checked."""
    inner_samples: int = 16
    """Inner instances of a domain that are checked."""
    smallest_sizes: tuple[int, ...] = (5, 3)
    """Sizes that loops for all sizes run at."""
    max_checked_instances: int = 20_000
    """Most instances that are checked one by one."""
    max_iterations: int = 500_000
    """Most iterations of a checked program."""
    sample_sizes: tuple[int, ...] = (40, 10, 5, 3, 2)
    """Sampled iterations of a loop, the outermost first."""
    sample_ends: tuple[int, ...] = (8, 3, 1, 1, 1)
    """Sampled iterations at each end of a loop."""
    sample_factors: tuple[int, ...] = (1, 2, 4, 8, 16)
    """Multiples of these until enough instances run."""
    enough_samples: int = 1_000
    """Instances that are enough."""
    max_sampled: int = 30_000
    """Most iterations of a sample."""
    max_followed: int = 2_000
    """Most iterations that follow one instance."""


TUNING = TuningParameters()
"""The values in use."""
