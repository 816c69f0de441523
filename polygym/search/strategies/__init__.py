"""Strategies of a search, behind ask and tell, in a registry by name.

===================  ==============================================================================
``candidates``       candidates
``decision_search``  search for good decisions of an episode, one draft after the other
``feature_cache``    feature cache of a search: candidates of one program, and considered schedules
``hill_climbing``    the search for the mapping of a few good schedules
``model_annealing``  searches that a model of cost leads
``model_options``    options of a search that learns from its own measurements
``neighborhood``     neighbourhood of a mapping
``policy_search``    schedules that a policy constructs, and changes of the mappings of the best
``random_search``    random search, which all others extend, and genetic search
``registry``         the strategies of a search by name
``samplers``         samplers of a search's episodes
``schedule_edits``   small changes of a legal schedule that lead to another legal one
``step_episodes``    beam search over episodes of Transform-v0, which cloning imitates
``step_search``      searches over transformation steps, from the source order
===================  ==============================================================================
"""
