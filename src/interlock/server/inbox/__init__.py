"""The pages: a folder a screen, each with its handlers, its templates and its static files."""
