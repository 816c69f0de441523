"""Compiled models: code, memory, calls.

==================  ========================
``compiled_model``  A model that is compiled
==================  ========================
"""
