"""Whether a result can be trusted: what gives labels away."""
