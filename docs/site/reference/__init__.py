"""Reference pages: each module returns the Markdown of one page from tables of the product."""
