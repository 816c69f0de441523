"""Schedule spaces: the legal rows of a schedule, as generators of polyhedra.

=====================  ===========================================================================
``cone``               The cone of rows that weakly satisfy some dependences, decomposed
``construction``       Algorithm 1
``coordinates``        Coordinates of a schedule space
``exploration``        Algorithm 2
``farkas``             Farkas' lemma by generators: the conditions of a dependence on one row
``generators``         Generators of a polyhedron (vertices
``polyhedra``          The polyhedra of a program's schedule rows, with a memo of every answer
``sampling``           A sample of the extreme rays and vertices of a polyhedron that has too many
=====================  ===========================================================================
"""
