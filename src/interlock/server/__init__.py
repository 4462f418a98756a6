"""The web inbox and the JSON API, over one kernel. Decides nothing itself and knows no store."""
