"""v1's `mlebench.registry`: the competitions by id, and where their data lie."""

from mlebench._v1.registry import Competition, Registry, registry

__all__ = ["Competition", "Registry", "registry"]
