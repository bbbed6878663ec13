"""The subcommands of `tendon`, one module each."""
