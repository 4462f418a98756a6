// A form is sent once: a second click, a held key and a page that was left open send nothing more.
"use strict";
(() => {
  const opened = performance.now();
  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (!(form instanceof HTMLFormElement) || form.method !== "post") return;
    if (form.dataset.sent) { event.preventDefault(); return; }
    form.dataset.sent = "yes";
    const dwell = form.elements.namedItem("dwell");
    if (dwell instanceof HTMLInputElement) dwell.value = String(Math.round(performance.now() - opened));
    // Disabled only after the browser has read which button was pressed.
    setTimeout(() => form.querySelectorAll("button").forEach((each) => { each.disabled = true; }), 0);
  });
  window.addEventListener("pageshow", (event) => {
    if (!event.persisted) return;
    // A page that comes back from the browser's memory may show what is decided by now.
    location.reload();
  });
})();
