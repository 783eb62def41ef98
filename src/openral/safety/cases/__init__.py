"""Stops written down, so that they can be looked at again."""
