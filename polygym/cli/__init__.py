"""The polygym command, one module a subcommand."""
