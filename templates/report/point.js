// Tells what a mark of a picture stands for: under the pointer, or with the arrow keys.
"use strict";
(function () {
  const tip = document.createElement("div");
  tip.className = "tip";
  tip.setAttribute("role", "status");
  document.body.append(tip);
  let told = null;

  function hide() {
    if (told) told.classList.remove("pointed");
    told = null;
    tip.classList.remove("shown");
  }

  function tell(mark, x, y) {
    if (mark !== told) {
      hide();
      told = mark;
      mark.classList.add("pointed");
      tip.textContent = mark.dataset.tip;
      tip.classList.add("shown");
    }
    const room = document.documentElement;
    const left = Math.min(x + 12, room.clientWidth - tip.offsetWidth - 8);
    const above = y - tip.offsetHeight - 12;
    tip.style.left = Math.max(left, 8) + "px";
    tip.style.top = (above < 8 ? y + 18 : above) + "px";
  }

  function point(event) {
    const mark = event.target.closest && event.target.closest("[data-tip]");
    if (mark) tell(mark, event.clientX, event.clientY);
    else hide();
  }

  document.addEventListener("pointermove", point);
  document.addEventListener("pointerdown", point);
  document.addEventListener("scroll", function () {
    // Going to a picture by keys scrolls there.
    if (!document.activeElement.matches(".chart svg")) hide();
  }, { passive: true });
  for (const picture of document.querySelectorAll(".chart svg")) {
    const marks = [...picture.querySelectorAll("[data-tip]")];
    if (!marks.length) continue;
    picture.setAttribute("tabindex", "0");
    picture.addEventListener("blur", hide);
    picture.addEventListener("keydown", function (event) {
      const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      if (event.key === "Escape") hide();
      if (!step) return;
      event.preventDefault();
      const from = marks.indexOf(told);
      const to = from < 0 ? (step > 0 ? 0 : marks.length - 1) : from + step;
      const mark = marks[(to + marks.length) % marks.length];
      const at = mark.getBoundingClientRect();
      tell(mark, at.left + at.width / 2, at.top + Math.min(at.height / 2, 24));
    });
  }
})();
