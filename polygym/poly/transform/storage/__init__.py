"""Storage of values: storage plans, and the programs that they make.

=====================  ===========================================================================
``apply``              Application of a storage plan: Scop → Scop
``argument_layout``    Arguments that are read as they lie in memory, with gaps or turned
``contraction``        Contraction: an array shrinks to the window that is alive at a time
``copy_statements``    Copy statements: values that the region is given, and values that it leaves
``default_plan``       The default storage plan: it frees a loop and costs less than a limit
``inhibitors``         Inhibitors of a program's loops in the order of the source
``memory_cost``        Memory cost of a storage plan, known before its arrays exist
``overlapped_tiles``   Overlapped tiles: passes over whole images become passes over strips
``overwritten_reads``  Reads of elements that are overwritten in the same iteration
``plan``               Storage plans as values with a text: the storage of each array
``private_plan``       The private plan: temporaries in the way of a loop, one copy a thread
``read_copies``        Copies of elements that many iterations read before they are overwritten
``variants``           Storage variants
``versions``           Versions
``webs``               Webs: the values of an array that belong together
=====================  ===========================================================================
"""
