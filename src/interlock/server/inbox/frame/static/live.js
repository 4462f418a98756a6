// Hints from the server become one event on the page; the parts that care ask for themselves anew. A hidden page rests.
"use strict";
(() => {
  const where = document.body.dataset.live;
  if (!where || !window.EventSource) return;
  let source = null;
  let missed = false;
  const tell = () => {
    if (document.hidden) { missed = true; return; }
    missed = false;
    document.body.dispatchEvent(new CustomEvent("interlock:change"));
  };
  const open = () => {
    source = new EventSource(where);
    source.addEventListener("change", tell);
  };
  document.addEventListener("visibilitychange", () => { if (!document.hidden && missed) tell(); });
  window.addEventListener("pagehide", () => { if (source) source.close(); });
  window.addEventListener("pageshow", (event) => { if (event.persisted) open(); });
  open();
})();
