"""An agent that speaks the protocol of MLAgentBench's ResearchAgent. Standard library only.

The protocol: every request holds the whole task and the last few steps, every answer six entries of which two name
an action and its input; the plan among the entries is the only memory of what is older.
"""
