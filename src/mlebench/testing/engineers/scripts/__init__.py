"""What the engineers write: scripts that run anywhere, as text. They are never imported."""
