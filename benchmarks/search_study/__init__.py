"""The study of searches that learn: what they search, who they are, what came of it.

``options`` has what its parts may be told. ``programs`` are searched by ``contenders``, some of
which have ``knowledge`` of others; ``searching`` is one search, the ``journal`` what there is of
all of them. ``curves`` makes numbers of these, ``figures`` pictures. ``invariance`` asks how far
what is learned of one program holds for others, by how candidates are shown to a model, and
``layers`` puts the layers of a network beside another library's.
"""
