"""Observations of episodes as arrays.

``arrays`` has the columns and the encoding of numbers, ``episode_arrays`` the arrays of every
episode over ``static_observation``, ``mapping_arrays`` and ``storage_arrays`` those of decisions.
``schedule_observer`` and ``decision_observer`` fill them in.
"""
