"""The study of the TENSAT paper on this machine: saturation beside backtracking, part by part.

``plan`` lists the trials, ``trial_runner`` runs one, ``study_folder`` keeps the results and
resumes, ``report`` makes tables of them and ``figures`` pictures; ``clocks`` compares the clocks.
"""

__all__ = ["clocks", "figures", "plan", "report", "study_folder", "trial_runner"]
