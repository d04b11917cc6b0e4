"use strict";
(() => {
  // The table is complete without this script, which only hides and sorts rows.
  const STEP = 25;
  const table = document.getElementById("people");
  if (!table) return;
  const body = table.tBodies[0];
  const rows = Array.from(body.rows);
  const find = document.getElementById("find");
  const outcome = document.getElementById("outcome");
  const shown = document.getElementById("shown");
  const more = document.getElementById("more");
  // Name, outcome, changes and reason: numbers are sorted, not searched.
  const WORDS = "th, .s, li, .reason";
  const said = (row) => Array.from(row.querySelectorAll(WORDS), (one) => one.textContent).join("\n");
  const texts = new Map(rows.map((row) => [row, said(row).toLowerCase()]));
  let order = rows;
  let limit = STEP;

  const count = (n) => n.toLocaleString("en");

  function show() {
    const words = find.value.toLowerCase().split(/\s+/).filter(Boolean);
    let matching = 0;
    for (const row of order) {
      const fits = (!outcome.value || row.cells[1].textContent === outcome.value)
        && words.every((word) => texts.get(row).includes(word));
      row.hidden = !fits;
      if (fits) matching += 1;
      row.classList.toggle("later", fits && matching > limit);
    }
    const whole = words.length === 0 && !outcome.value;
    shown.textContent = whole
      ? `${count(rows.length)} applicants`
      : `${count(matching)} of ${count(rows.length)} applicants`;
    more.hidden = matching <= limit;
    more.textContent = `Show all ${count(matching)}`;
  }

  const collator = new Intl.Collator("en", { numeric: true });
  function compare(column, numeric, turn) {
    return (a, b) => {
      const [x, y] = [a.cells[column].textContent, b.cells[column].textContent];
      if (!x || !y) return (x ? 0 : 1) - (y ? 0 : 1);  // empty cells stay last
      return turn * (numeric ? parseFloat(x) - parseFloat(y) : collator.compare(x, y));
    };
  }
  const heads = Array.from(table.tHead.rows[0].cells);
  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const up = head.getAttribute("aria-sort") !== "ascending";
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
      const numeric = head.classList.contains("n");
      order = rows.slice().sort(compare(column, numeric, up ? 1 : -1));
      body.append(...order);
      show();
    });
  });

  const renew = () => { limit = STEP; show(); };
  find.addEventListener("input", renew);
  outcome.addEventListener("input", renew);
  find.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && find.value) { find.value = ""; renew(); event.preventDefault(); }
  });
  more.addEventListener("click", () => { limit = Infinity; show(); });
  document.getElementById("controls").hidden = false;
  show();
})();
(() => {
  // Nothing can be opened on paper, so everything is open.
  let opened = [];
  addEventListener("beforeprint", () => {
    opened = Array.from(document.querySelectorAll("details:not([open])"));
    opened.forEach((one) => { one.open = true; });
  });
  addEventListener("afterprint", () => { opened.forEach((one) => { one.open = false; }); });
})();
