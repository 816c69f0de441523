"""Build code of the documentation site: pages that derive from the product's own tables.

``hooks`` is called by MkDocs. It adds the pages of ``reference`` (tables of commands, options,
passes, features, rules …) and of ``root_pages`` (files outside of ``docs/``), and fills the
``navigation``. ``markdown`` writes tables, ``docstrings`` converts
docstrings, ``docstring_extension`` does so for the API pages, and ``documents`` derives the
members of JSON documents from the functions that return them.
"""
