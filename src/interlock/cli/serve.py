"""`interlock serve`: the inbox in a browser, with a worker beside it; and `interlock link`, the way into it."""

from __future__ import annotations

import ipaddress
import socket
import sys
import threading
from typing import TYPE_CHECKING, Any

import click

from interlock.cli.frame import Global, StoreCommand, emit
from interlock.cli.opening import open_browser
from interlock.domain.errors import SettingsError

if TYPE_CHECKING:
    from interlock.compose import Interlock

PORT = 8321


@click.command("serve", cls=StoreCommand)
@click.argument("app", metavar="MODULE:NAME", required=False)
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option("--port", type=click.IntRange(0, 65535), default=PORT, show_default=True, help="0 takes a free one.")
@click.option("--worker", type=click.IntRange(0, 1), default=1, show_default=True, help="0: only pages and API.")
@click.option("--public-url", metavar="URL", help="How browsers reach it, for example https://inbox.example.com.")
@click.option("--open", "open_it", is_flag=True, help="Open the browser, signed in.")
def serve(
    state: Global, app: str | None, host: str, port: int, worker: int, public_url: str | None, open_it: bool
) -> int:
    """The inbox in a browser: what waits, each card, each run, everything on record.

    With MODULE:NAME (an Interlock object, for example app:il; may be left out) decided runs go on here as well.
    Prints a link that signs you in, once. Listens on this machine alone; another address needs --public-url with
    https. With --json: one object, {"url", "link"}, when it listens. Ctrl-C ends it.
    """
    from interlock.compose import login_link, open_kernel, web_server

    origin_of(host, port, public_url)  # refuses before anything is opened
    il = _load(app, state.url) if app else None
    if il is not None:
        kernel, name = il.kernel, il.settings.url
    else:
        kernel, settings = open_kernel(state.url)
        name = settings.url
    try:
        listener = _listen(host, port)
        origin = origin_of(host, listener.getsockname()[1], public_url)
        link = login_link(kernel, origin)
        _tell(state, origin, link, name, app if worker and il is not None else None)
        if open_it:
            open_browser(link)
        return _run(web_server(kernel, origin), listener, il if worker else None)
    finally:
        (il or kernel).close()


@click.command("link", cls=StoreCommand)
@click.option("--at", "origin", metavar="URL", help="The server's address; otherwise that of the one on this machine.")
def link(state: Global, origin: str | None) -> int:
    """A link that signs you in to the inbox, once, within 15 minutes. With --json: {"link"}."""
    from interlock.cli.frame import desk_of
    from interlock.compose import login_link, open_kernel

    with desk_of(state):
        pass  # whoever may open the desk of this store may sign in to its inbox, and nobody else
    kernel, _ = open_kernel(state.url)
    try:
        made = login_link(kernel, (origin or f"http://127.0.0.1:{PORT}").rstrip("/"))
    finally:
        kernel.close()
    if state.json:
        emit({"link": made})
    else:
        click.echo(made)
    return 0


def origin_of(host: str, port: int, public_url: str | None) -> str:
    """How browsers reach the server; refuses a public address that nothing protects."""
    if public_url:
        if not public_url.startswith("https://"):
            raise SettingsError(
                "public_without_tls",
                f"{public_url} is not https: sessions would travel in the open",
                "Put a proxy with TLS before it, and name its https address.",
            )
        return public_url.rstrip("/")
    if not _loopback(host):
        raise SettingsError(
            "public_address",
            f"{host} can be reached from other machines",
            "Leave --host out, or put a proxy with TLS before it and name its address: --public-url https://…",
        )
    shown = f"[{host}]" if ":" in host else host
    return f"http://{shown}:{port}"


def _loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _load(app: str, url: str | None) -> Interlock:
    from interlock.cli.work import load_at

    return load_at(app, url)


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
    except OSError as error:
        listener.close()
        raise SettingsError(
            "port_taken",
            f"{host}:{port} cannot be listened on: {error.strerror}",
            "Name another: --port 0 takes a free one.",
        ) from None
    listener.listen(1024)
    return listener


def _tell(state: Global, origin: str, link: str, store: str, app: str | None) -> None:
    from interlock.display import plain

    if state.json:
        emit({"url": origin, "link": link}, compact=True)
    else:
        click.echo(f"Inbox on {origin}, store {plain(store)}")
        click.echo(
            f"Decided runs go on here ({plain(app, limit=80)})." if app else "No worker here: pages and API only."
        )
        click.echo("Sign in, once, within 15 minutes:")
        click.echo(f"  {link}")
        click.echo("Ctrl-C ends it.")
    sys.stdout.flush()


def _run(server: Any, listener: socket.socket, il: Interlock | None) -> int:
    loop = il.worker() if il is not None else None
    thread = threading.Thread(target=loop.run_forever, name="interlock-worker") if loop is not None else None
    if thread is not None:
        thread.start()
    try:
        server.run(sockets=[listener])
    except KeyboardInterrupt:
        pass
    finally:
        if loop is not None and thread is not None:
            loop.stop()
            thread.join()
    return 0
