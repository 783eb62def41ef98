"""What all nodes of a graph share, below safety, hal, world and skill: topics, seals, obstacles."""
