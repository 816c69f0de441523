"""The subcommands of ``polygym``, one module each; what they share stands beside this folder."""
