"""Native scenes: one module a scene, each with a `SCENE` that the registry finds."""
