"""Transformations of Scops that keep their results: index sets and storage.

``splitting`` cuts statements into pieces with schedules of their own; ``storage`` gives arrays
other memory (expansion, privatization, contraction, renaming).
"""
