"""The subcommands of ``polygym``, one module each; folders hold the commands of one subject."""
