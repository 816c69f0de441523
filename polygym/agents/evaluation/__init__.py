"""Evaluation of agents: their policies, episodes, results, comparisons, films.

``agent_sources`` finds the policies of an agent, ``episodes`` lets them act, ``results`` reads and
writes result lines, ``comparison`` puts agents beside each other, ``aggregates`` makes numbers with
intervals of the scores of several seeds, ``validation`` plays results again and ``result_checks``
compares a line with its record; ``episode_film`` has the frames of an episode and ``videos`` writes
them.
"""
