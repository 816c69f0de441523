"""Regions without pragmas: found in a file, chosen among those found, and marked in its text.

==================  ===========================================================================
``choice``          the region that a user means, by a function, by a line, or the best one
``found_regions``   results of the search: regions, and loops that are refused
``function_trees``  a function's syntax tree with pragmas put in, and what it needs around it
``region_search``   the search for maximal regions
``trials``          one range of statements tried as a region
==================  ===========================================================================
"""
