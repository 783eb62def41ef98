"""The process that a policy runs in, and its confinement."""
