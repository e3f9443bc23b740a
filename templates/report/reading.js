// What a reader does with a page: follow a link into a folded part, sort a table, find a user.
(() => {
  "use strict";
  const unfold = (target) => {
    for (let at = target; at; at = at.parentElement) if (at.tagName === "DETAILS") at.open = true;
  };
  const follow = () => {
    const target = location.hash.length > 1 && document.getElementById(location.hash.slice(1));
    if (target) { unfold(target); target.scrollIntoView(); }
  };
  addEventListener("hashchange", follow);
  follow();

  const value = (row, column) => {
    const cell = row.cells[column];
    if (!cell) return ["", -Infinity];
    const shown = cell.dataset.sort ?? cell.textContent.trim();
    const number = Number(shown.replace(/[,\u2009\u202f %]/g, "").replace("\u2212", "-"));
    return [shown, shown === "" || Number.isNaN(number) ? null : number];
  };
  const sort = (table, column, button) => {
    const head = button.closest("th");
    const down = head.getAttribute("aria-sort") !== "descending";
    for (const th of table.tHead.rows[0].cells) th.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    const body = table.tBodies[0];
    const rows = [...body.rows].map((row, place) => [row, value(row, column), place]);
    rows.sort(([, [a, m], i], [, [b, n], j]) => {
      const order = m !== null && n !== null ? m - n : m !== null ? 1 : n !== null ? -1 : a.localeCompare(b);
      return (down ? -order : order) || i - j;
    });
    body.append(...rows.map(([row]) => row));
  };
  for (const table of document.querySelectorAll(".scroll table")) {
    const body = table.tBodies[0];
    if (!table.tHead || !body || body.rows.length < 3 || body.querySelector("[colspan]")) continue;
    [...table.tHead.rows[0].cells].forEach((th, column) => {
      if (body.rows[0].cells[column].classList.contains("bar")) return;
      const button = document.createElement("button");
      button.type = "button";
      button.className = "sort";
      button.append(...th.childNodes);
      button.addEventListener("click", () => sort(table, column, button));
      th.append(button);
    });
  }

  const find = document.getElementById("find");
  if (!find) return;
  const found = document.getElementById("found");
  const rows = [...document.querySelectorAll("table.owners tbody tr")];
  find.form.addEventListener("submit", (event) => event.preventDefault());
  find.addEventListener("input", () => {
    const wanted = find.value.trim().toLowerCase();
    let number = 0;
    let first = null;
    for (const row of rows) {
      const name = row.cells[0].querySelector("bdi");
      const match = !wanted || Boolean(name && name.textContent.toLowerCase().includes(wanted));
      row.hidden = !match;
      if (wanted && match) { number += 1; first = first ?? row; unfold(row); }
    }
    found.textContent = wanted ? (number === 1 ? "in 1 row" : `in ${number} rows`) : "";
    if (first) first.scrollIntoView({ block: "center" });
  });
})();
