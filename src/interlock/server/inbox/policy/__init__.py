"""What is asked about, and what that costs."""
