"""Source texts: preprocessor, parser, regions, literals, and places in the user's files.

========================  ========================================================================
``compilation_database``  compilation databases: the flags of a project's files
``compile_flags``         folders of headers and macros that a text is read with
``compiler_output``       output of a compiler's preprocessor: line markers, system headers
``condition_value``       values of the conditions of ``#if``
``cpp``                   C++ files with loops of C: their tokens as those of C
``enclosing_functions``   files without a function around the region
``function_bodies``       statements of functions as ranges of tokens
``header_types``          types of standard headers beyond the usual ones
``initializers``          initialisers in plain form
``literals``              the constants of C: their values and types
``locations``             the preprocessed text with the places of its tokens in the user's files
``parser``                parsing: preprocessed text to a syntax tree, and the regions marked in it
``predefined_macros``     macros that a compiler has defined before it reads a file
``preprocessor``          preprocessing
``readable_files``        folder below which included files must be
``region_mark``           marks of regions that have no pragmas
``region_selection``      sizes of bare pointers that are given beside a file
``scoped_types``          names of types that functions declare, each its own
``syntax``                syntax trees as values
``tolerant_parsing``      parsing of a text that the parser refuses as a whole
``unknown_types``         types that a text names and nothing in it declares
``unreadable``            nodes for the parts of a file that the parser does not take
``unwritten_statics``     static variables that nothing writes
========================  ========================================================================
"""
