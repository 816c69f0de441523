"""Pretraining of the automatic policy from corpora of measurements.

``dataset`` has the rows of all cases, in folds; ``boosted_trees`` fits trees to them,
``calibration`` chooses how careful the policy is.
"""
