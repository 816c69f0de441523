"""Tests of polygym.frontend.tc.inference."""
