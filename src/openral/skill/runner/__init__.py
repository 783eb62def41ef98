"""The skill runner: takes ExecuteSkill goals and publishes candidate chunks."""
