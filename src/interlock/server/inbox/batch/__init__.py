"""Several cards of one kind, decided together."""
