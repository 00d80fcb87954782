// SPDX-License-Identifier: GPL-2.0-only
"use strict";
/* Opens the ledger of a sample that an address names, and keeps the table of boards up to date. */
(() => {
  const open = () => {
    const named = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    named?.querySelectorAll("details").forEach((one) => { one.open = true; });
    named?.querySelector("summary")?.focus({ preventScroll: true });
    named?.scrollIntoView({ block: "nearest" });
  };
  addEventListener("hashchange", open);
  if (location.hash) open();

  const boards = document.getElementById("boards");
  if (!boards) return;
  const live = document.getElementById("live");
  const say = (text, on) => { if (live.textContent !== text) live.textContent = text; live.classList.toggle("on", on); };
  const stream = new EventSource(boards.dataset.events);
  stream.addEventListener("open", () => say("Updates as it happens.", true));
  stream.addEventListener("error", () => say("The server cannot be reached; trying again.", false));
  stream.addEventListener("farm", (event) => {
    const focused = boards.contains(document.activeElement) && document.activeElement.getAttribute("href");
    boards.innerHTML = JSON.parse(event.data);
    if (focused) boards.querySelector(`a[href="${CSS.escape(focused)}"]`)?.focus();
  });
})();
