"""Source texts: preprocessor, parser, regions, literals, and places in the user's files.

========================  ================================================================="""
