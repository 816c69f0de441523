"""Marked regions on their way to programs: completed, and passed through all passes.

=========================  ===================================================================
``completion``             files without a function around a region, completed
``implicit_declarations``  names that a region uses and nothing declares
``lost_values``            variables whose last values no array of the Scop has
``passes``                 the passes of the C front end, in their order
=========================  ===================================================================
"""
