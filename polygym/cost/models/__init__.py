"""Cost models: what predicts times, learns from measurements, and is kept in files.

``cost_model`` is the interface; ``boosted_trees`` (``tree_inference``) and ``tree_gru`` implement
it. ``score_network`` is what policies learn by; ``correction`` adds one program's own
measurements. ``pretrained`` reads and chooses models, ``cross_validation`` judges them.
"""

__all__: list[str] = []
