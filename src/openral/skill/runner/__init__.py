"""The skill runner: ExecuteSkill goals in, candidates out."""
