"""Estimates of code."""
