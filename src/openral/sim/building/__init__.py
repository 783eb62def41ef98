"""What scenes are built from."""
