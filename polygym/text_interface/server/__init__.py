"""Server of text sessions as tools, for clients that are not trusted.

========================  ========================================================================
``bounded_lines``         lines of a stream up to a length
``json_lines``            the protocol JSON lines: a request a line, a reply a line
``limits``                limits of a server: files, sizes, memory, time
``mcp_tools``             the Model Context Protocol over standard input and output
``program_files``         names of programs that clients may load
``service``               tools on sessions, one call after the other
``tool_table``            tools with their arguments, as JSON schemas
========================  ========================================================================
"""
