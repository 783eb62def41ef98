"""What the nodes of a graph share: below safety, hal, world and skill."""
