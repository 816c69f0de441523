"""Memory: pointers as subscripts, flat arrays as arrays of rows, sizes that nothing declares.

=====================  ============================================================================
``delinearization``    arrays of several dimensions that C has as one
``pointer_induction``  pointers that walk through one array
``points_to``          targets of pointer expressions
``row_containment``    whether elements of arrays of rows are in their rows, asked of isl
``unsized_arrays``     array arguments whose size is not declared: as large as the region uses them
=====================  ============================================================================
"""
