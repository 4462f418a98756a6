"""The errors a user can meet, each with a stable code and a mend.

BaseException
├── Interrupted                 the run pauses here; not an error, and `except Exception` does not eat it
└── Exception
├── NoEffect                raised BY a tool: "nothing happened, you may call me a failure"
└── InterlockError          code, one line, mend
├── Refused             this action was not run, and why (kind, words)
├── ActionFailed        the recorded failure, where its own class cannot be made again
├── ResultNotStored     it ran, but its result could not be kept
├── RolledBack          it ran and was undone
├── Diverged            the code took another way than the record says
├── CallError           this call cannot be proposed (arguments, no run, a closed pass)
├── RunError            this run cannot be entered, retried or cancelled now
├── DecisionError       this decision does not count
├── StoreError          the store cannot be used
└── SettingsError       what was configured does not fit
└── PolicyError     this policy file cannot be used; says the line and the column
"""

from __future__ import annotations

from datetime import datetime

from interlock.domain.ids import ActionId, Digest, InterruptId, RunId


class InterlockError(Exception):
    """Any error of Interlock: `code` is stable, `str()` is one line, `mend` says what to do."""

    def __init__(self, code: str, message: str, mend: str = "") -> None:
        super().__init__(code, message, mend)
        self.code = code
        self.message = message
        self.mend = mend

    def __str__(self) -> str:
        return f"{self.message} [{self.code}]" + (f" {self.mend}" if self.mend else "")


class Refused(InterlockError):
    """This action was not run. `kind` says how it ended, `words` is what the reviewer wrote.

    Kinds: `rejected`, `redirected`, `expired`, `denied`, `withdrawn`, `superseded`, `repeated`
    (the same effect was turned down before in this run), `nested_pause`, `tool_changed`.
    """

    def __init__(
        self,
        kind: str,
        message: str,
        words: str = "",
        by: str | None = None,
        tool: str = "",
        action: ActionId | None = None,
        mend: str = "",
    ) -> None:
        super().__init__(kind, message, mend)
        self.args = (kind, message, words, by, tool, action, mend)  # what makes it again from the record
        self.kind = kind
        self.words = words
        self.by = by
        self.tool = tool
        self.action = action


class ActionFailed(InterlockError):
    """The action failed earlier and its own exception class is not at hand; `error` names it."""

    def __init__(self, message: str, error: str = "", action: ActionId | None = None) -> None:
        super().__init__("action_failed", message)
        self.args = (message, error, action)
        self.error = error
        self.action = action


class ResultNotStored(InterlockError):
    """The action ran, but its result could not be stored; the effect is not repeated."""

    def __init__(self, tool: str, shown: str, action: ActionId | None = None) -> None:
        super().__init__(
            "result_not_stored",
            f"{tool} ran earlier, but its result ({shown}) could not be stored",
            "Return a type that can be stored, or declare one with result=.",
        )
        self.args = (tool, shown, action)
        self.action = action


class RolledBack(InterlockError):
    """The action ran and was rolled back, or half so; its old success no longer holds.

    `state` is `rolled_back`, `rolling_back` or `rollback_failed`.
    """

    def __init__(self, tool: str, action: ActionId | None = None, state: str = "rolled_back") -> None:
        told = {"rolling_back": "is being rolled back", "rollback_failed": "its rollback failed half way"}
        super().__init__("rolled_back", f"{tool} ran and {told.get(state, 'was rolled back')}")
        self.args = (tool, action, state)
        self.state = state
        self.action = action


class Diverged(InterlockError):
    """The code did not make a call again that the record of this run holds."""

    def __init__(self, message: str, run: RunId | None = None, expected: str = "", got: str = "") -> None:
        super().__init__(
            "diverged",
            message,
            "Put what is not deterministic into il.step(...); "
            "after a deliberate change: interlock retry RUN --accept-divergence.",
        )
        self.args = (message, run, expected, got)
        self.run = run
        self.expected = expected
        self.got = got


class CallError(InterlockError):
    """This call cannot be proposed. Nothing was recorded as run, nothing ran."""


class RunError(InterlockError):
    """This run cannot be entered, retried or cancelled as it stands."""


class DecisionError(InterlockError):
    """This decision does not count; nothing changed by it. `by` and `at` tell who was first."""

    def __init__(
        self, code: str, message: str, mend: str = "", *, by: str | None = None, at: datetime | None = None
    ) -> None:
        super().__init__(code, message, mend)
        self.by = by
        self.at = at


class StoreError(InterlockError):
    """The store cannot be opened, read or written. What was not acknowledged did not happen."""


class SettingsError(InterlockError):
    """A setting, a declaration or an argument of the constructor does not fit."""


class PolicyError(SettingsError):
    """A policy file cannot be used as it is written.

    `line` and `column` count from 1 and say where (0: nowhere in particular); `file` is the name of the file, where
    it came from one.
    """

    def __init__(self, code: str, message: str, mend: str = "", line: int = 0, column: int = 0, file: str = "") -> None:
        place = f"line {line}, column {column}" if line else ""
        where = ", ".join(part for part in (file, place) if part)
        super().__init__(code, f"{where}: {message}" if where else message, mend)
        self.args = (code, message, mend, line, column, file)
        self.words = message
        self.line = line
        self.column = column
        self.file = file

    def within(self, file: str) -> PolicyError:
        """The same error, naming the file."""
        return PolicyError(self.code, self.words, self.mend, self.line, self.column, file)


class NoEffect(Exception):
    """Raise this in a tool to say: it failed, and nothing happened outside."""


class Interrupted(BaseException):
    """The run pauses here until people have decided. Let it pass.

    `run` names the run, `interrupts` the open cards it waits for (may be empty while frozen),
    `digest` and `url` belong to the first of them.
    """

    def __init__(
        self,
        message: str,
        *,
        run: RunId | None = None,
        interrupts: tuple[InterruptId, ...] = (),
        digest: Digest | None = None,
        url: str = "",
    ) -> None:
        super().__init__(message)
        self.run = run
        self.interrupts = interrupts
        self.digest = digest
        self.url = url
