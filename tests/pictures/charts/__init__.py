"""Tests of polygym.pictures.charts."""
