"""What crosses HTTP: one table of operations, values as JSON and back exactly, errors as problems (RFC 9457)."""
