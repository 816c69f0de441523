"""The study of the TENSAT paper on this machine: saturation beside backtracking, part by part.

``plan`` says which trials there are, ``running`` runs one, ``folder`` keeps what was found and goes
on where it ended, ``report`` makes tables of it and ``figures`` pictures; ``times`` says by which
clock.
"""

__all__ = ["figures", "folder", "plan", "report", "running", "times"]
