"""Quick estimates of a program, of its original order alone: no schedule is made, nothing is run.

============  ===============================================================================
``benefit``   the gain that a schedule may bring, and the work times the gain
``patterns``  a word for what a program computes
``work``      the number of operations at given sizes
============  ===============================================================================
"""
