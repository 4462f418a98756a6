"""Where the rows live: in memory, in SQLite. Each store keeps the contract of `ports.store`."""
