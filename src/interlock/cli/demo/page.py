"""The demo's inbox in a browser, with a word on each card about what is worth trying there."""

from __future__ import annotations

import socket
import threading
from collections.abc import Generator
from contextlib import contextmanager

from interlock.cli.demo.evidence import plain_arguments
from interlock.cli.demo.shop import ORDERS, Folder
from interlock.compose import login_link, open_kernel, web_server
from interlock.domain.errors import SettingsError
from interlock.domain.interrupt import InterruptKind
from interlock.kernel.views import CardView


@contextmanager
def page_of(folder: Folder) -> Generator[str]:
    """Serve the inbox of the demo's store; gives a link that signs in, or "" where it cannot be served here."""
    kernel, _ = open_kernel(folder.url)
    listener = socket.create_server(("127.0.0.1", 0), backlog=64)
    origin = f"http://127.0.0.1:{listener.getsockname()[1]}"
    try:
        server = web_server(kernel, origin, tips=tip)
    except SettingsError:
        listener.close()
        kernel.close()
        yield ""
        return
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, name="inbox", daemon=True)
    thread.start()
    try:
        yield login_link(kernel, origin)
    finally:
        server.should_exit = True
        thread.join(timeout=5)
        listener.close()
        kernel.close()


def tip(view: CardView | None) -> str:
    """What to try on a card of the demo; for the list itself where there is none."""
    if view is None:
        return (
            "An agent answers the letters of a small lamp shop. Reading, drafting and labelling flow without you; "
            "what cannot be taken back waits here. Open each card: it says what is worth trying."
        )
    if view.card.kind is InterruptKind.RECONCILE:
        return "The worker was killed in the middle. Look into sent.mbox or orders.db, and say what happened."
    arguments = plain_arguments(view.about)
    if view.about.action.tool == "refund_order":
        return "Only one of the two lamps is broken. Press Modify and make the amount 44.90."
    body, to = str(arguments.get("body", "")), arguments.get("to")
    if any(order.address in body and order.email != to for order in ORDERS):
        return (
            "This would send a customer's address to a stranger; the letter talked the agent into it. Write a note, "
            "such as “Not our customer: give nothing away”, and press Redirect. The agent plans again."
        )
    if "We do not give out data" in body:
        return "The agent has understood. Still, nobody owes a stranger an answer: press Reject; it stays a draft."
    return "Everything in it is right. Press Approve: it is sent once, and the card tells you when."
