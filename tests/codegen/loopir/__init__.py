"""Loops of code generation."""
