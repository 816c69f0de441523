"""Running and timing compiled code in a process of its own.

``problem`` says what is to be run, ``outcome`` what became of it, ``options`` and ``timing`` how
it is measured; ``worker`` (with ``session``) is what others use. Behind it: ``connection`` starts
and talks to the ``supervisor``, whose ``keeper`` forks a ``runner`` for each ``job``; ``channel``
carries their messages, ``memory`` holds the arrays, ``progress`` is watched for time limits,
``compare`` decides whether outputs are right.
"""
