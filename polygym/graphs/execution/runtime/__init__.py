"""Compiled models: code, memory, calls.

==================  ==============================================================================
``call_sequence``   Kernels one after the other in a single call: what Python takes between two …
``compiled_model``  A model that is compiled
==================  ==============================================================================
"""
