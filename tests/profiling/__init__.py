"""Tests of profiles of users' programs."""
