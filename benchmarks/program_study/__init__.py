"""Whole programs: searches with and without learning, beside saturation; matrix products."""
