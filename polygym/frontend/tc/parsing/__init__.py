"""Parser of comprehensions: text to syntax trees, with calls replaced by statements.

``definitions`` parses definitions and statements, ``expressions`` tokens and expressions;
``inlining`` replaces a call of another definition by its statements, and ``paper_forms`` puts two
forms of the paper in terms of the others.
"""
