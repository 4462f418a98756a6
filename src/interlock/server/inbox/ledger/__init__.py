"""Everything on record."""
