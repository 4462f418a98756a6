"""Private to the SQL stores: tables, statements, rows and migrations."""
