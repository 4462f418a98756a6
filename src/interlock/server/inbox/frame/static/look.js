// Before the first paint: the looks that this person chose. Without a choice the system's own count.
"use strict";
(() => {
  const kept = (name) => {
    try { return localStorage.getItem(`interlock-${name}`) || ""; } catch { return ""; }
  };
  const put = (look) => {
    document.documentElement.classList.toggle("light", look === "light");
    document.documentElement.classList.toggle("dark", look === "dark");
  };
  put(kept("look"));
  document.addEventListener("click", (event) => {
    const button = event.target instanceof Element ? event.target.closest("[data-look]") : null;
    if (!button) return;
    try { localStorage.setItem("interlock-look", button.dataset.look); } catch { /* it lasts for this page then */ }
    put(button.dataset.look);
  });
})();
