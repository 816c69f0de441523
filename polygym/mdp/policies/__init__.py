"""Policies of episodes.

``registry`` names them: the ``rules``, and the ``pretrained`` policy over ``predicted_gain``.
"""
