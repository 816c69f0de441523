"""Tests of tensor comprehensions."""
