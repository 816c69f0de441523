"""Operators in programs of JAX: ``functions`` are those that it traces."""
