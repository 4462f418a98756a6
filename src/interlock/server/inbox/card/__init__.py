"""One card, and everything that can be done with it."""
