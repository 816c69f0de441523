"""Loops that are not affine: induction variables, trip counts, polynomials, ranges of rows.

=====================  ======================================================================
``induction``          integers that step in nests of loops, as polynomials of the counters
``polynomials``        C's integer expressions as polynomials
``row_ranges``         ranges of an array of rows that start or end inside of a row, or are …
``trip_counts``        loops from, to or by products: counted by their iterations instead
=====================  ======================================================================
"""
