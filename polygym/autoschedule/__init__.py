"""Default decisions without a search: schedule, storage variant and splitting.

``schedule_choice`` and ``storage_choice`` choose by the scores of ``weights``,
``program_recipes`` changes programs, ``storage_cache`` remembers choices.
"""
