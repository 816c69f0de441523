"""Scans of projects: all regions of all files, sorted by what a better schedule would save.

=============  ============================================================================
``file_scan``  one file: its regions with estimates, and its loops that are refused
``headers``    folders of headers that a file needs and no flag names, from the same project
``pool``       many files: processes, time limits, files that crash
``prediction`` the gain that the models of cost expect of the automatic schedule
``results``    rows of a scan, and their order
``sources``    the C files of a file, a folder, or a compilation database
=============  ============================================================================
"""
