"""The program `interlock`: which commands there are, and how every one of them ends.

Exit codes: 0 done, 1 refused or not found, 2 usage, settings or store, 130 Ctrl-C, 141 nobody reads the output.
An error is one line on stderr, `interlock: what happened [code] what to do`; with `--json` it is
`{"error": {"code": …, "message": …, "mend": …}}` on one line there.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib import import_module
from io import TextIOWrapper
from typing import Any, cast

import click

from interlock.cli.frame import Global, json_option, url_option

_SECTIONS: dict[str, dict[str, tuple[str, str]]] = {
    "See": {
        "inbox": ("inbox:inbox", "What waits for a person, the riskiest first."),
        "show": ("look:show", "A card by its fingerprint or id, or the story of a run."),
        "runs": ("look:runs", "Runs, the newest first."),
        "reveal": ("reveal:reveal", "What a card hides; who looked is on record."),
        "ledger": ("ledger:ledger", "Everything that happened, in order; and its export."),
        "doctor": ("doctor:doctor", "Whether the store is sound, and what is stuck."),
    },
    "Policy": {
        "policy": ("policy:policy", "Check a policy file, and explain a ruling."),
    },
    "Decide": {
        "reject": ("decide:reject", "Do not run it; the note reaches the agent."),
        "redirect": ("decide:redirect", "Not this; plan again, knowing the note."),
        "modify": ("modify:modify", "Run it with other arguments."),
        "respond": ("decide:respond", "Give the result yourself; the tool does not run."),
        "approve": ("decide:approve", "Let exactly what the card shows run, once."),
        "revoke": ("decide:revoke", "Take an approval back, until it runs."),
        "reconcile": ("decide:reconcile", "Say what happened to an action in doubt."),
    },
    "Stop, undo, go on": {
        "freeze": ("stops:freeze", "Stop everything, or one agent, tool or run, before its next action."),
        "release": ("stops:release", "Lift a freeze."),
        "cancel": ("stops:cancel", "End a run; what has not started is withdrawn."),
        "retry": ("stops:retry", "Go on with a stopped run from what is recorded."),
        "rollback": ("stops:rollback", "Undo an action that is done, by its tool's own means."),
    },
    "Run": {
        "serve": ("serve:serve", "The inbox in a browser, with a worker beside it."),
        "link": ("serve:link", "A link that signs you in to the inbox, once."),
        "keys": ("keys:keys", "Keys for agents and reviewers elsewhere."),
        "worker": ("work:worker", "Go on with waiting runs as soon as they are decided."),
        "demo": ("demo.command:demo", "An agent at work, with its inbox in this terminal."),
    },
}
COMMANDS = {name: entry for section in _SECTIONS.values() for name, entry in section.items()}
"""Every command: the module and attribute below `interlock.cli` where it is, and its one line of help."""


class _PipeGone(Exception):
    """Whoever read our output is gone."""


class Program(click.Group):
    """Loads a command when it is called, and turns whatever ends it into a line and an exit code."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  click's signature
        """All commands, in the order in which people meet them."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002  click's signature
        """Import the command; None where there is none of this name."""
        entry = COMMANDS.get(cmd_name)
        if entry is None:
            return None
        module, _, attribute = entry[0].partition(":")
        return cast("click.Command", getattr(import_module(f"interlock.cli.{module}"), attribute))

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002  click's signature
        """The commands by what they are for, without importing them."""
        for title, commands in _SECTIONS.items():
            with formatter.section(title):
                formatter.write_dl([(name, words) for name, (_, words) in commands.items()], col_max=12)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; a reader that went away is no error of ours."""
        try:
            answer = super().invoke(ctx)
            sys.stdout.flush()
        except BrokenPipeError:
            raise _PipeGone from None
        return answer

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        windows_expand_args: bool = True,  # noqa: ARG002  click's signature
        **extra: Any,
    ) -> Any:
        """Run the program as the shell does: always ends in `SystemExit`, unless not `standalone_mode`."""
        words = list(sys.argv[1:] if args is None else args) or ["--help"]
        start = super().main

        def call() -> object:
            return cast("object", start(words, prog_name or "interlock", complete_var, standalone_mode=False, **extra))

        if not standalone_mode:
            return call()
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, TextIOWrapper):  # a terminal that lacks a letter gets its code point, not a traceback
                stream.reconfigure(errors="backslashreplace")
        sys.exit(_guarded(call, as_json=_wants_json(words)))


def _wants_json(words: Sequence[str]) -> bool:
    """Whether the output is to be JSON; `modify --json '{…}'` is another thing."""
    following = [*words[1:], ""]
    return any(
        word == "--json" and not after.lstrip().startswith("{") for word, after in zip(words, following, strict=True)
    )


def _version(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if not wanted or ctx.resilient_parsing:
        return
    from importlib.metadata import PackageNotFoundError, version

    try:
        click.echo(f"interlock {version('interlock')}")
    except PackageNotFoundError:
        click.echo("interlock, run from its source")
    ctx.exit()


def _guarded(call: Callable[[], object], *, as_json: bool) -> int:
    from interlock.domain.errors import InterlockError, SettingsError, StoreError

    try:
        answer = call()
    except InterlockError as error:
        _tell(error.code, error.message, error.mend, as_json=as_json)
        return 2 if isinstance(error, (StoreError, SettingsError)) else 1
    except click.UsageError as error:
        path = error.ctx.command_path if error.ctx else "interlock"
        _tell("usage", error.format_message(), f"See: {path} --help", as_json=as_json)
        return 2
    except click.ClickException as error:
        _tell("usage", error.format_message(), "", as_json=as_json)
        return 2
    except click.Abort:
        with suppress(OSError):
            sys.stderr.write(f"{chr(10) if sys.stderr.isatty() else ''}interlock: stopped [stopped]\n")
        return 130
    except OSError as error:
        # Whatever was decided before is on record; only the telling failed.
        _tell("output_failed", f"the output could not be written: {error.strerror or error}", "", as_json=False)
        return 2
    except _PipeGone:
        # What is left in the buffer must not be written at exit either.
        with suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    return answer if isinstance(answer, int) else 0


def _tell(code: str, message: str, mend: str, *, as_json: bool) -> None:
    from interlock.display import plain

    if as_json:
        line = json.dumps({"error": {"code": code, "message": message, "mend": mend}})
    else:
        line = plain(f"interlock: {message.rstrip('. ')} [{code}] {mend}".rstrip())
    with suppress(OSError):
        click.echo(line, err=True)


@click.group(
    "interlock", cls=Program, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100}
)
@url_option
@json_option
@click.option(
    "--version", is_flag=True, expose_value=False, is_eager=True, callback=_version, help="Show the version and exit."
)
@click.pass_context
def main(ctx: click.Context, url: str | None, json_output: bool) -> None:
    """See what AI agents are about to do, and decide.

    REF names a card: its fingerprint (K7M2-Q9TD), or its id together with --digest. Every command takes --url
    (the store; INTERLOCK_URL otherwise) and --json. Exit codes: 0 done, 1 refused or not found, 2 usage or store.
    """
    ctx.obj = Global(url, json_output)
