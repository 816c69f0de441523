"""The report of a sweep: pictures for a paper and one page that holds everything.

``figures`` makes the pictures of what :mod:`polygym.search.sweep.reading` has read, ``table`` the
rows, ``page`` the HTML, and ``files`` writes them.
"""
