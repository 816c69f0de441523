"""Planning of a tree under a mapping.

=================  ===============================
``plan``           the walk, and the pass
``tile_sizes``     tile sizes of each kind of band
``permutability``  loops that may change places
=================  ===============================
"""
