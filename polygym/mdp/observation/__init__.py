"""Observations of episodes as arrays.

``arrays`` has the columns and the encoding of numbers, ``episode_arrays`` the arrays of every
episode over ``static_observation``, ``mapping_arrays`` and ``storage_arrays`` those of decisions.
``transform_arrays`` has those of steps on loops. ``schedule_observer``, ``decision_observer`` and
``transform_observer`` fill them in.
"""
