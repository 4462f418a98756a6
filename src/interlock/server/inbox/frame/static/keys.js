// Shortcuts. A key presses what carries it: an element with data-key. What decides carries data-decides too and is
// guarded: not while a key is held, not within half a second of a change or a focus, not unless it can be seen.
"use strict";
(() => {
  const QUIET = 500;
  const store = {
    get: (name) => { try { return localStorage.getItem(name); } catch { return null; } },
    set: (name, value) => { try { localStorage.setItem(name, value); } catch { /* for this page only */ } },
  };
  let on = store.get("interlock-keys") !== "off";
  let calm = performance.now() + QUIET;
  const unrest = () => { calm = performance.now() + QUIET; };
  const say = (words) => { const said = document.getElementById("said"); if (said) said.textContent = words; };

  const rows = () => [...document.querySelectorAll("[data-row]")];
  const current = () => document.querySelector("[data-row][aria-current]");
  const move = (step) => {
    const all = rows();
    if (!all.length) return;
    const at = all.indexOf(current());
    const next = all[at < 0 ? (step > 0 ? 0 : all.length - 1) : Math.min(all.length - 1, Math.max(0, at + step))];
    all.forEach((row) => row.removeAttribute("aria-current"));
    next.setAttribute("aria-current", "true");
    const link = next.querySelector("a");
    if (link) link.focus({ preventScroll: true });
    next.scrollIntoView({ block: "nearest" });
    unrest();
  };

  const typing = (target) => target instanceof HTMLElement &&
    (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName)) &&
    !(target instanceof HTMLInputElement && /^(checkbox|radio|button|submit)$/.test(target.type));
  const seen = (element) => {
    const box = element.getBoundingClientRect();
    return box.height > 0 && box.top >= 0 && box.bottom <= window.innerHeight;
  };

  const press = (key) => {
    const scope = current() || document;
    const found = [...scope.querySelectorAll(`[data-key="${CSS.escape(key)}"]`),
      ...document.querySelectorAll(`[data-key="${CSS.escape(key)}"]`)];
    const element = found.find((each) => !each.disabled);
    if (!element) return false;
    if (element.hasAttribute("data-decides")) {
      if (performance.now() < calm) return true;
      if (!seen(element)) {
        element.scrollIntoView({ block: "center" });
        unrest();
        say("Here it is. Press the key again.");
        return true;
      }
    }
    if (element.matches("input[type=checkbox]")) element.click();
    else if (element.matches("input, textarea, select")) element.focus();
    else if (element.matches("summary")) element.parentElement.open = !element.parentElement.open;
    else element.click();
    return true;
  };

  const help = () => {
    const dialog = document.getElementById("keys");
    if (!(dialog instanceof HTMLDialogElement)) return;
    if (dialog.open) dialog.close(); else dialog.showModal();
  };

  document.addEventListener("keydown", (event) => {
    if (!on || event.repeat || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    if (event.key === "Escape" && typing(event.target)) { event.target.blur(); return; }
    if (typing(event.target) || document.querySelector("dialog[open]")) return;
    if (event.key === "?") { help(); event.preventDefault(); return; }
    if ((event.key === "j" || event.key === "k") && rows().length) { move(event.key === "j" ? 1 : -1); return; }
    if (event.key === "Enter" || event.key === " ") return; // what has the focus answers these itself
    if (press(event.key)) event.preventDefault();
  });
  document.addEventListener("focusin", unrest);
  document.body.addEventListener("htmx:afterSwap", unrest);
  document.addEventListener("visibilitychange", unrest);

  const show = () => {
    document.documentElement.classList.toggle("no-keys", !on);
    document.querySelectorAll("[data-keys]").forEach((button) => {
      button.textContent = on ? "Turn shortcuts off" : "Turn shortcuts on";
      button.setAttribute("aria-pressed", String(!on));
    });
    document.querySelectorAll("[data-help]").forEach((button) => { button.hidden = !on; });
  };
  document.addEventListener("click", (event) => {
    const target = event.target instanceof Element ? event.target : null;
    if (!target) return;
    if (target.closest("[data-help]")) help();
    if (target.closest("[data-keys]")) { on = !on; store.set("interlock-keys", on ? "on" : "off"); show(); }
  });
  show();
})();
