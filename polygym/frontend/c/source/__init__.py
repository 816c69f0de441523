"""Source texts: preprocessor, parser, regions, literals, and places in the user's files.

========================  ========================================================================
``compilation_database``  compilation databases: the flags of a project's files
``compile_flags``         folders of headers and macros that a text is read with
``cpp_text``              signs that a refused text is C++
``enclosing_functions``   files without a function around the region
``function_bodies``       statements of functions as ranges of tokens
``generated_text``        the comment of C files that polygym wrote
``header_types``          types of standard headers beyond the usual ones
``initializers``          initialisers in plain form
``literals``              the constants of C: their values and types
``locations``             origins of the tokens of the preprocessed text
``parser``                parsing: preprocessed text to a syntax tree, and the regions marked in it
``preprocessor``          preprocessing
``region_mark``           marks of regions that have no pragmas
``region_selection``      sizes of bare pointers that are given beside a file
``standard_headers``      standard headers as the front end knows them
``syntax``                syntax trees as values
``unwritten_statics``     static variables that nothing writes
========================  ========================================================================
"""
