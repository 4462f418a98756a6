"""LangGraph and LangChain: middleware for agents, guarded tools for any graph, graphs that a worker resumes."""
