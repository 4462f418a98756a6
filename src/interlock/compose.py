"""The only place that names concrete stores, identities and adapters: `Interlock` and `Desk` are assembled here."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, cast

from interlock import settings as settings_
from interlock.adapters.guard.frames import current
from interlock.adapters.guard.rollback import roll_back
from interlock.adapters.guard.tool import Duration
from interlock.adapters.plain import PlainAdapter
from interlock.canonical import fingerprint
from interlock.domain.action import Versions
from interlock.domain.credential import CredentialKind
from interlock.domain.errors import DecisionError, PolicyError, SettingsError
from interlock.domain.ids import ActionId
from interlock.domain.run import Run, Work
from interlock.domain.tool import ToolSpec
from interlock.identities.local import LocalIdentity, session_secret, user_name
from interlock.kernel import Kernel
from interlock.kernel.access import LOGIN_LASTS
from interlock.kernel.desk import ReviewDesk
from interlock.kernel.views import CardView
from interlock.policy import PolicySet, Profile, check, check_rules, idle_rules, parse_policy
from interlock.ports.store import Store
from interlock.worker import Worker

SECRET_NAME = "reviewer-secret"
"""The file beside an SQLite store that holds the local session secret."""


class Interlock(PlainAdapter):
    """The agent's side: guard tools, run workflows. It holds no credential to decide with.

    `url` names the store (see `interlock.settings`), `profile` how much is asked, `policy` a file with
    rules, `agent` the agent whose tools these are; `versions` of agent, model and prompt are recorded
    with every action. `wait` holds a paused caller for so long, for a person at the terminal. `store`
    takes a store that is open already (tests do that). Where the url is that of a server (`https://…`), `credential` is
    the agent's key there: rulings, workers and people are the server's then.
    """

    def __init__(
        self,
        url: str | None = None,
        *,
        agent: str = "agent",
        profile: str | None = None,
        policy: str | os.PathLike[str] | None = None,
        wait: Duration = 0,
        versions: Versions | None = None,
        owner: str = "",
        store: Store | None = None,
        lease: Duration | None = None,
        credential: str | None = None,
    ) -> None:
        settings = settings_.load(url, profile, policy=policy)
        self.settings = settings
        lease_s = settings.lease_s if lease is None else _seconds(lease)
        self._kernel: Kernel | None = None
        if settings.remote and store is None:
            gate: Any = _remote_gate(settings, credential, lease_s)
        else:
            gate = self._kernel = Kernel(store or open_store(settings), policy_of(settings), lease_s=lease_s)
        recorded = versions or Versions()
        if settings.environment and not recorded.environment:
            recorded = Versions(recorded.agent, recorded.model, recorded.prompt, settings.environment)
        self._gate = gate
        super().__init__(
            gate,
            gate,
            agent=agent,
            versions=recorded,
            owner=owner or f"user:{user_name()}",
            check=self._check_tool,
            announce=self._announce,
            wait=wait,
        )

        self.guards.kinds.append(self._guard_langchain)

    @property
    def kernel(self) -> Kernel:
        """The kernel in this process; raises `SettingsError` `no_kernel_here` where the store is a server's."""
        if self._kernel is None:
            raise SettingsError(
                "no_kernel_here",
                f"the store is kept by the server {self.settings.url}: its workers and policy are there",
                "Run `interlock serve` or `interlock worker` where the store is.",
            )
        return self._kernel

    def _guard_langchain(self, tool: object, keywords: Mapping[str, Any]) -> object:
        """Guard a LangChain tool. Whoever has one has LangChain loaded; nobody else pays for it."""
        langchain = sys.modules.get("langchain_core.tools")
        if langchain is None or not isinstance(tool, langchain.BaseTool):
            return None
        from interlock.adapters.langgraph.intercept import guard_tool

        return guard_tool(self.guards, cast("Any", tool), cast("Any", keywords))

    def register_graphs_of(self, module: Mapping[str, object]) -> None:
        """Register the compiled graphs in a module that speak through a middleware of ours and are not known yet.

        A worker does so with the module it is started for: whoever wrote the agent need not think of workers.
        """
        if "langgraph" not in sys.modules or "interlock.adapters.langgraph.intercept" not in sys.modules:
            return
        from interlock.adapters.langgraph.resume import agents_in, register

        for name, graph in list(agents_in(module, self.guards)):
            if name not in self.guards.resumable:
                register(self, graph, name=name)

    def _check_tool(self, spec: ToolSpec) -> None:
        """Refuse a declaration that contradicts itself, and rules that do not fit the tool."""
        check(spec)
        if self.settings.policy is not None and self._kernel is not None:
            check_policy(self.settings.policy, self.kernel.policy, [spec])

    def _announce(self, run: Run) -> None:
        """On a terminal, say that the run pauses and how to decide; programs look at the run instead."""
        if not sys.stderr.isatty():
            return
        for card in self._gate.open_cards(run.id):
            sys.stderr.write(f"{card.tool} waits for a decision: interlock show {fingerprint(card.digest)}\n")

    def worker(self, **hooks: Any) -> Worker:
        """A worker loop for the workflows and tools known here; run it in a thread or process of its own."""
        return Worker(
            self.kernel,
            resume=self.resume,
            rollback=self._roll_back,
            knows=lambda name: name in self.guards.resumable,
            **hooks,
        )

    def _roll_back(self, work: Work) -> None:
        roll_back(self.kernel, self.guards.tools, ActionId(work.subject), work.error)

    def close(self) -> None:
        """Commit what waits, stop the heartbeat, close the store."""
        self._gate.close()

    def __enter__(self) -> Interlock:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Desk(ReviewDesk):
    """The reviewer's side: another object than the agent's, opened with a credential.

    Without `credential` the local session secret beside the store is read: whoever may read that file
    is the reviewer. Where the url is that of a server, it is the reviewer's key there, and what comes of it is a
    `RemoteDesk` with the same methods. Code inside a run cannot open a desk or use one.
    """

    def __new__(cls, url: str | None = None, credential: str | None = None, *, channel: str = "api") -> Desk:
        """A desk over the store itself, or over the server that keeps it."""
        settings = settings_.load(url)
        if not settings.remote:
            return super().__new__(cls)
        _not_in_a_run()
        return cast("Desk", _remote_desk(settings, credential, channel))

    def __init__(self, url: str | None = None, credential: str | None = None, *, channel: str = "api") -> None:
        _not_in_a_run()
        settings = settings_.load(url)
        path = settings.path
        if path is None:
            raise SettingsError(
                "store_unknown", "a store in memory has no desk outside its process", "Use interlock.testing there."
            )
        identity = LocalIdentity(session_secret(path.parent / SECRET_NAME))
        principal = identity.authenticate(credential or session_secret(path.parent / SECRET_NAME))
        self.settings = settings
        self._own = Kernel(open_store(settings), policy_of(settings), lease_s=settings.lease_s)
        super().__init__(self._own, principal, channel, guard=_not_in_a_run)

    def about_store(self) -> dict[str, str]:
        """What the store tells of itself: schema, journal mode, size."""
        from interlock.stores.sqlite import SqliteStore

        store = self._own.store
        return store.about() if isinstance(store, SqliteStore) else {}

    def close(self) -> None:
        """Close the store."""
        self._own.close()

    def __enter__(self) -> Desk:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _transport(settings: settings_.Settings, credential: str | None) -> Any:
    try:
        from interlock.client.transport import Transport
    except ModuleNotFoundError as error:
        raise SettingsError(
            "remote_extra_missing",
            f"a server is reached with {error.name}, which is not installed",
            "Install it: pip install 'interlock[remote]'",
        ) from error
    return Transport(settings.url, credential or settings.credential)


def _remote_gate(settings: settings_.Settings, credential: str | None, lease_s: float) -> Any:
    transport = _transport(settings, credential)
    from interlock.client.gate import RemoteGate

    return RemoteGate(transport, lease_s=lease_s)


def _remote_desk(settings: settings_.Settings, credential: str | None, channel: str) -> Any:
    transport = _transport(settings, credential)
    from interlock.client.desk import RemoteDesk

    return RemoteDesk(transport, channel, guard=_not_in_a_run)


def open_kernel(url: str | None = None) -> tuple[Kernel, settings_.Settings]:
    """A kernel over the store that the url or the settings name, for a server that has no agent of its own."""
    settings = settings_.load(url)
    return Kernel(open_store(settings), policy_of(settings), lease_s=settings.lease_s), settings


def login_link(kernel: Kernel, origin: str) -> str:
    """A link to the inbox under `origin` that signs the user of this machine in, once."""
    person = user_name()
    made = kernel.issue(CredentialKind.LOGIN, person, by=f"operator:{person}", lasts=LOGIN_LASTS)
    return f"{origin}/signin?token={made.token}"


def web_server(
    kernel: Kernel, origin: str, limits: Any = None, tips: Callable[[CardView | None], str] | None = None
) -> Any:
    """The inbox and the API over a kernel as a server that is reached under `origin`; `run(sockets=[…])` serves.

    `limits` says how often somebody may ask (`interlock.server.limits.Limits`), `tips` gives words for a card, or for
    the list, that the demo shows. Raises `SettingsError` where the extra `server` is not installed.
    """
    try:
        from interlock.server.app import Inbox
        from interlock.server.running import InboxServer
        from interlock.server.security import Border
    except ModuleNotFoundError as error:
        raise SettingsError(
            "server_extra_missing",
            f"the inbox needs {error.name}, which is not installed",
            "Install it: pip install 'interlock[server]'",
        ) from error
    return InboxServer(Inbox(kernel, Border.at(origin), limits, tips))


def open_store(settings: settings_.Settings) -> Store:
    """The store that the settings name, opened, its tables brought up to date."""
    if settings.remote:
        raise SettingsError(
            "no_kernel_here", f"{settings.url} is a server, not a store", "Do this where its store is, with that URL."
        )
    path = settings.path
    if path is None:
        from interlock.stores.memory import MemoryStore

        return MemoryStore()
    from interlock.stores.sqlite import SqliteStore

    return SqliteStore(path)


def policy_of(settings: settings_.Settings) -> PolicySet:
    """The policy that the settings name; raises `SettingsError` for an unknown profile, `PolicyError` for its file.

    What the file says goes before the settings: it belongs to those who own the agent.
    """
    try:
        profile = Profile(settings.profile)
    except ValueError:
        raise SettingsError(
            "bad_profile", f"there is no profile {settings.profile!r}", f"Use one of {', '.join(Profile)}."
        ) from None
    defaults = PolicySet(profile=profile, expensive_from=settings.expensive_from)
    if settings.policy is None:
        return defaults
    policy = read_policy(settings.policy, defaults)
    for rule in policy.rules:
        if rule.reviewers:
            raise PolicyError(
                "reviewers_not_configured",
                f"the rule {rule.name!r} asks for {rule.reviewers[0].group}, and this store knows one reviewer only",
                "Leave reviewers out of the rule; one person decides here.",
                rule.line,
                rule.column,
                settings.policy.name,
            )
    return policy


def read_policy(path: Path, defaults: PolicySet = PolicySet()) -> PolicySet:  # noqa: B008 - frozen
    """Read a policy file. What it does not say is as in `defaults`; raises `PolicyError` with line and column."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        said = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        words = f"it cannot be read: {said}"
        raise PolicyError("policy_unreadable", words, "Name a TOML file.", file=str(path)) from None
    try:
        return parse_policy(text, defaults=defaults)
    except PolicyError as error:
        raise error.within(path.name) from None


def notes_on_rules(policy: PolicySet, specs: Iterable[ToolSpec]) -> list[str]:
    """In words, what rules of a policy ask for and never get: less than what applies to a tool."""
    return [
        f"the rule {rule.name!r} asks for {asks.value}, which {spec.name} never gets: {why}"
        for spec in specs
        for rule, asks, why in idle_rules(policy, spec)
    ]


def check_policy(path: Path, policy: PolicySet, specs: Iterable[ToolSpec]) -> None:
    """Check a policy against tools; raises `PolicyError` for the first rule that does not fit one."""
    try:
        check_rules(policy, specs)
    except PolicyError as error:
        raise error.within(path.name) from None


def _seconds(lease: Duration) -> float:
    from interlock.adapters.guard.tool import duration

    given = duration("Interlock", "lease", {"lease": lease})
    return settings_.lease(given.total_seconds() if given is not None else 30.0)


def _not_in_a_run() -> None:
    frame = current()
    if frame is not None and not frame.scope.pass_.ended:
        raise DecisionError(
            "not_allowed", "code inside a run may not decide", "An agent can never decide; open the desk elsewhere."
        )


def secret_path(url: str | None = None) -> Path | None:
    """Where the local session secret of a store lies."""
    path = settings_.load(url).path
    return path.parent / SECRET_NAME if path is not None else None


__all__ = ["Desk", "Interlock", "check_policy", "open_store", "policy_of", "read_policy", "secret_path"]
