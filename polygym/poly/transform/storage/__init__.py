"""Where a program keeps its values: plans of storage, and the programs that they make.

==============  ===================================================================================
``plan``        what becomes of each array, as a value with a text
``webs``        which values of an array belong together
``versions``    which element each write fills, and where each read looks
``copies``      what is copied in beforehand and out behind
``check``       the proof that every read sees the value that it saw
``apply``       a program and a plan in, a program out: all of the above
--------------  -----------------------------------------------------------------------------------
``windows``     how much of an array is alive at a time
``contract``    smaller arrays for an order in which that is less than all
``obstacles``   what stands in the way of a program's loops, by flow or by memory
``choose``      which plan a program gets without a search
``describe``    what there is to choose from
``offers``      what of that may free something and is proved to be right
``price``       how much memory new arrays take, and a limit
``texts``       isl's functions as the texts of a program
==============  ===================================================================================
"""

__all__: list[str] = []
