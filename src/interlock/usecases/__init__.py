"""One verb, one file: each makes the one unit of work that carries it out."""
