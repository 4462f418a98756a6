"""The demo: a scripted agent, a real mailbox, a real order database, a real mail server, and a person who decides."""
