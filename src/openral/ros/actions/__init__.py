"""Actions: goals that take time, on the server's and on the client's side."""
