"""Mapping to a GPU: legal schedule → plan of blocks and threads → launches of kernels.

==================  =====================================================================
``device_mapping``  The options as a value that prints and parses
``device_model``    Facts of known devices, and the default block
``roles``           Loops that count blocks or threads
``plan``            Schedule tree → tree whose loops have roles
``index_bounds``    How large a grid has to be
``launches``        Loops with roles → launches of kernels
``pipeline``        All of it, with simpler plans where isl's budget is exceeded
==================  =====================================================================
"""
