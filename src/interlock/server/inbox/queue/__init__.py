"""What waits for people."""
