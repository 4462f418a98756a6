"""What all pages share: their frame, their looks, and how values and words become HTML."""
