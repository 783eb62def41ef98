"""Native scenes: one module per scene, each with a `SCENE` that the registry finds."""
