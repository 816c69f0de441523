"""Terms meet schedules: rewriting before the loops are scheduled, and a check of what comes of it.

``rewriting_stage`` times forms of a program and takes the fastest, ``schedule_check`` compares a
schedule of its loops with the interpreter.
"""
