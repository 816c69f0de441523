"""Equality saturation of whole programs: terms with loops, in an e-graph that knows binders.

``binder_matching`` matches rules with binders in an e-graph, ``loop_rules`` has what no pattern
says, ``program_extraction`` chooses the cheapest term, ``code_motion`` binds what is shared or does
not change within a loop, ``program_saturation`` is the whole.
"""
