"""Sweeps on nodes of Ray on this machine: ``nodes`` starts them, ``harms`` are done to them.

``comparing`` says whether what is found in spite of harms is what an undisturbed sweep finds,
``overhead`` what a cluster of one machine costs.
"""
