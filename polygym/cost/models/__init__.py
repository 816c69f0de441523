"""Cost models: what predicts times, learns from measurements, and is kept in files.

``cost_model`` is the interface; ``boosted_trees`` (``tree_inference``) and ``tree_gru``
(``tree_gru_network``) implement it, kept in ``array_archives``. ``score_network``
(``score_network_training``) is what policies learn by; ``correction`` adds one program's own
measurements. ``pretrained`` reads and chooses models, ``cross_validation`` judges them.
"""
