"""How long a node may be silent before a run ends.

On hardware, on wall time and with `real_time`, every deadline is a wall-clock one and strict.
Elsewhere simulated time waits for slow nodes, so deadlines count graph time; these wall-clock
limits then only catch a node that is dead or hangs.
"""

from __future__ import annotations

STARTING_S = 30.0
"""Longest silence of a node, and longest wait for one, while the graph starts."""
SILENT_S = 10.0
"""Longest silence of a node in a running graph."""
INPUT_S = 5.0
"""Longest time that simulated time waits for an input of a node that is itself alive."""
