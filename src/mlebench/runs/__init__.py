"""Runs: the plan, one attempt end to end, the store on disk, resuming."""
