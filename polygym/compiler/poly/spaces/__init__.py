"""Schedule spaces: which rows a schedule may have, as generators of polyhedra.

``layout`` fixes what a point means: the coefficients of one row for all statements. ``farkas``
turns every dependence into conditions on such points, ``generators`` (the Parma Polyhedra Library)
turns conditions into vertices and rays, ``sampling`` takes over where there are too many of them,
``carrying`` says which dependences a row can carry, and ``space`` puts it together, dimension by
dimension. ``construct`` and ``explore`` are the two algorithms that build a space and pick a
schedule from it; ``completion`` gives the schedule the inner dimensions that it lacks.
"""
