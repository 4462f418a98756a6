"""SQLite through the standard driver: opening, reading, writing, and the one writer thread."""
