"""Third-party simulators, exactly as published, behind the SimRollout protocol."""
