"""The built-in skills and their components."""
