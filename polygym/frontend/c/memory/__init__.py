"""Memory: pointers as arrays and subscripts, flat arrays as arrays of rows, undeclared sizes.

=======================  ==========================================================================
``allocated_sizes``      numbers of elements that a call of ``malloc`` or ``calloc`` asks memory …
``delinearization``      arrays of several dimensions that C has as one
``pointer_arguments``    pointers that a region does not set, as arrays of their own
``pointer_expressions``  values of pointer expressions, and what they set
``pointer_flow``         values of the pointers of a function where its region begins
``pointer_induction``    pointers that walk through one array
``pointer_merging``      pointers of a region that are one array, and those that may be
``pointer_values``       values of pointers as symbols
``points_to``            targets of pointer expressions
``region_pointers``      pointers that a region uses
``row_containment``      whether elements of arrays of rows are in their rows, asked of isl
``unsigned_rows``        flat arrays whose subscripts are of the type ``unsigned int``, which …
``unsized_arrays``       array arguments whose size is not declared: as large as the region uses …
=======================  ==========================================================================
"""
