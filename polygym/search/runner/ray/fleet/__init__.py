"""The fleet of a cluster: its nodes at work, from the driver's side.

``transport`` is the protocol of what carries messages. A node is of one of the ``node_kinds`` and
has ``programs`` by their texts; ``jobs`` are what it is asked. ``members`` are the workers as the
driver sees them, with the calibration of their clocks; ``fleet`` keeps them busy.
"""
