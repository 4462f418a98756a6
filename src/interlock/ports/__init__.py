"""What we need from others, said as protocols; their docstrings are the contract."""
