"""Tests of the C front end."""
