"""Machine code goes in, an honest time comes out.

``worker`` runs and times compiled code in processes of its own; ``evaluation`` compiles schedules
of one program, has them run beside the original order, and says what became of each; ``machine``
says what the machine does at most.
"""

__all__ = ["evaluation", "peaks", "worker"]
