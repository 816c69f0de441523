"""Stages that programs of others reach: found → modelled → legal → faster → equal.

=================  ===========================================================================
``bounded``        a process for each nest, ended with its children when its time is over
``journal``        results as lines of a file, so that a run is continued
``loop_text``      places of loops in C text, without a parser
``nest_stages``    the stages of one nest, in that process
``nests``          nests to look at: those of the suite, or those that a scan finds
``outcomes``       results of a nest
``reasons``        kinds of refusals
``report``         tables and totals
``stages``         scan of the files, then the stages of each nest
``whole_program``  the program around a nest, built with the fast loops and run
=================  ===========================================================================
"""
