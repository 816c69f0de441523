"""Features of a schedule alone, from its rows: no tree, no mapping.

``schedule_vector`` adds up ``statement_columns``, with the ``ordering`` by dependences;
``program_features`` is the same for all schedules of a program.
"""
