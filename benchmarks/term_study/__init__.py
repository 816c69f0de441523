"""Tables of the study of terms (:mod:`term_study.report`)."""
