"""Non-temporal stores and software prefetching of arrays larger than the last cache.

``analysis`` chooses loops that read memory row by row; ``transform`` is the pass; ``emit``
emits the stores, the fence and the prefetches.

fires on: deriche
"""
