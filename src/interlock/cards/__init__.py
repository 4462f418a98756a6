"""What people read of a card, an action, a run and an event, in words and values: the same on every surface.

Nothing here knows a terminal or a page. Everything that an agent wrote comes out sanitised and bounded.
"""
