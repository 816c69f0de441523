"""Brute force to compare with: slow, simple, and independent of what they check."""
