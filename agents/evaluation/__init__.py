"""Evaluation of agents: their policies, result files, checks of results, videos.

``agent_sources`` finds the policies of an agent, ``results`` reads and writes result lines,
``result_checks`` compares a line with its record, ``videos`` writes films.
"""
