"""The gate and the desk of a store that a server keeps, over HTTP. Closed where the server is away."""
