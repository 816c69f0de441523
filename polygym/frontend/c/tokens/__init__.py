"""Tokens of a file before anything is parsed.

=====================  ==================================================================
``annotations``        annotations and spellings of GNU C and later standards, in plain C
``file_declarations``  declarations at file scope as ranges of words
``origins``            tokens and their origins; texts without comments
``standard_headers``   standard headers as the front end knows them
=====================  ==================================================================
"""
