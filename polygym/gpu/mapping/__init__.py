"""Mapping to a GPU: legal schedule → plan of blocks and threads → launches of kernels.

==================  =====================================================================
``device_mapping``  The options as a value that prints and parses
``device_model``    Facts of known devices, and the default block
``plan``            Schedule tree → tree whose loops have roles
``sum_roles``       Loops whose terms threads take together
``launches``        Loops with roles → launches of kernels
``pipeline``        All of it, with simpler plans where isl's budget is exceeded
==================  =====================================================================
"""
