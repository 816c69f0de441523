"""Source texts: preprocessor, parser, regions, literals, and places in the user's files.

=======================  =========================================================================
``enclosing_functions``  files without a function around the region
``initializers``         initialisers in plain form
``literals``             the constants of C: their values and types
``locations``            origins of the tokens of the preprocessed text
``parser``               parsing: preprocessed text to a syntax tree, and the regions marked in it
``preprocessor``         preprocessing
``region_selection``     sizes of bare pointers that are given beside a file
``standard_headers``     standard headers as the front end knows them
``syntax``               syntax trees as values
=======================  =========================================================================
"""
