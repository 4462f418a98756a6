"""What was decided lately."""
