"""Times of operators, kernels and steps, measured by the worker.

===================  ===============================================================================
``kernel_tuning``    the fastest kernels of a model, found by the clock and kept
``operator_timing``  the time of one operator, taken by the measuring worker in a process of its own
``step_profile``     profile of a model
===================  ===============================================================================
"""
