"""How long things may take here, in seconds: little, so that a lease runs out soon after its holder has died."""

MODEL_TIMEOUT = 1.0
TOOL_TIMEOUT = 0.75
LEASE_MARGIN = 0.5

SLOW = 1.6
"""What a slow call takes: longer than the lease that covers it."""

PAUSE = (1.0, 4.0)
"""How long a process is stopped: mostly longer than a lease, so that others have taken over what it holds."""
