"""From a plain region to a Scop: domains, values of variables, bounds, assembly.

=========================  ========================================================================
``assembly``               assembling
``bounds_check``           the bounds check
``extraction``             the region's statements
``live_in``                values that come into the region from the function around it, by code …
``loop_domains``           ``for`` headers to isl
``scalar_evolution``       evolution of the variables that a loop carries from one iteration to …
``structure_views``        members of structures in the layout of the program
``sufficient_conditions``  conditions under which no access leaves its array
``translation``            one region on its way to a Scop
``value_tracking``         values of integer variables, as functions of parameters and counters …
``violations``             accesses that leave their arrays: by dimension, the instances that do, …
=========================  ========================================================================
"""
