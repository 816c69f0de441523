"""Running and timing compiled code in a process of its own."""
