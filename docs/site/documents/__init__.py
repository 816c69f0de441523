"""JSON documents from the functions that return them: members, types, meanings.

The functions write literal dictionaries, whose members this package derives from their source.
``values`` has what is known of an expression, ``kinds`` the JSON types of Python's, ``facts`` the
types and meanings of attributes, ``expressions``, ``calls`` and ``functions`` follow the source.
``rows`` lists the members of a document.
"""
