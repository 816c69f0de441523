"""Features of a schedule under a mapping.

``candidate_vector`` adds up ``nest_vectors``; ``pack_estimates`` and ``private_arrays`` refine
them. ``loop_tree`` keeps the loops themselves.
"""
