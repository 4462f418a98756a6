"""The JSON API: the operations of `wire`, carried out over a kernel."""
