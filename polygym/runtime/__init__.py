"""Compiled code in, measured times out.

``worker`` runs and times compiled code in processes of its own; ``evaluation`` compiles schedules
of one program and measures them beside the original order; ``device`` runs programs on a GPU;
``peaks`` measures the limits of the machine; ``loader`` loads object code.
"""

__all__ = ["device", "evaluation", "peaks", "worker"]
