"""Corpora."""
