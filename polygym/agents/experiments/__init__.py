"""Experiments: a training as a value, its file, and the checks of both.

``experiment`` is the value and ``reading`` reads its file, by ``yaml_documents`` and
``document_entries``. ``environments``, ``wrappers`` and ``splits`` make its environment, ``models``
its model; ``hyperparameters`` and ``options`` check the algorithm's arguments. ``rewrite_terms`` is
about experiments on terms, ``train_test_leakage`` about test kernels among training kernels.
"""
