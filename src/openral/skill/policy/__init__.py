"""The process that a policy runs in, and what it is denied."""
