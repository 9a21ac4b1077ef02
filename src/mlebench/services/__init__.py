"""Services that an agent reaches from inside its sandbox, through a Unix socket."""
