"""Hardware behind one seam: what every robot looks like to the rest of the graph."""
