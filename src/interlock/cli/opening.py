"""Opening a page in the person's browser, without letting a text browser take the terminal."""

from __future__ import annotations

import shutil
import subprocess
import sys


def open_browser(url: str) -> bool:
    """Ask the desktop to open the page; answers whether there was anything to ask."""
    command = shutil.which("open" if sys.platform == "darwin" else "xdg-open")
    if command is None:
        return False
    try:
        subprocess.Popen(  # noqa: S603  our own link, and no shell
            [command, url],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    except OSError:
        return False
    return True
