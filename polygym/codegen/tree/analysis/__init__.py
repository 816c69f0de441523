"""Analyses of schedule trees.

======================  ==============================================================
``planner_context``     program, machine, mapping and memo that decisions depend on
``access_strides``      strides of accesses along each loop
``trip_counts``         iterations of loops at known sizes
``loop_order``          the order of loops that a mapping asks for
``loop_roles``          loops in vectors, in copies, in registers; groups of statements
``scalar_replacement``  elements that registers may hold, decided exactly
``data_bounds``         bands over loops whose bounds are read from memory
``default_sizes``       register blocks and tiles from registers and caches
``vector_choice``       the vector loop around a reduction with the fewest cycles
``band_width``          how many loops of the largest statements may be in tiles together
``tile_coordinates``    tile numbers as isl sets, and conditions that tell tiles apart
======================  ==============================================================
"""
