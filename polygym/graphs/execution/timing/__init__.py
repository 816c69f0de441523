"""Times of kernels and steps, measured by the worker.

=================  ===============================================================================
``kernel_timing``  the time of one kernel, taken by the measuring worker in a process of its own
``kernel_tuning``  the fastest kernels of a model, found by the clock and kept
``plan_timing``    times of the steps of a plan
``step_profile``   profile of a model
=================  ===============================================================================
"""
