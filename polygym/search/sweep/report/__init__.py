"""The report of a sweep: pictures for a paper and one page that holds everything.

``figures`` makes the pictures of what :mod:`polygym.search.sweep.reader` has read, ``page`` the
HTML with its table, and writes the files.
"""
