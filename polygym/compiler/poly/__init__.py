"""Dependences and schedules: exact integer-set mathematics through isl."""
