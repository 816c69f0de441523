"""Semantics: symbols, declarations, types, affine and other expressions.

======================  ===========================================================================
``accesses``            array accesses
``affine``              C expressions to isl
``affine_expressions``  functions of parameters and iterators as expressions
``arithmetic``          C's implicit conversions made explicit: the builders of typed expressions
``assumptions``         assumptions on parameters that the program states
``bindings``            meanings of names inside the region
``declarations``        declarations
``diagnostics``         statements that no region has: why, and what to write instead
``expression_types``    types of expressions, from declarations alone
``expressions``         C expressions to the intermediate representation: what a statement computes
``function_effects``    variables and members that a call may set
``functions``           functions that are called
``integer_arithmetic``  C's integer arithmetic on affine values
``pointer_types``       types of pointer expressions
``overloads``           functions of C++ that have several types
``symbols``             names
======================  ===========================================================================
"""
