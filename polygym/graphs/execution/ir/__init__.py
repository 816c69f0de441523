"""Operations on arrays, views, loop nests, and their text.

==================  ================================================================================
``nests``           loop nests as values
``simplification``  the simplest form of a nest: fewer indices on the same memory
``views``           arrays as they are read: transposed, sliced, expanded, without moving an element
==================  ================================================================================
"""
