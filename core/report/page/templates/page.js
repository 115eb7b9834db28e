(() => {
  const tools = document.querySelector(".tools"), rows = [...document.querySelectorAll("#matrix tbody tr[data-outcomes]")];
  const search = document.getElementById("search"), shown = document.getElementById("shown"), buttons = [...tools.querySelectorAll("button")];
  tools.hidden = false;
  const filter = () => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean), wanted = buttons.filter(b => b.getAttribute("aria-pressed") === "true").map(b => b.dataset.outcome);
    let count = 0;
    for (const row of rows) {
      const text = row.textContent.toLowerCase(), outcomes = row.dataset.outcomes.split(" ");
      row.hidden = !words.every(word => text.includes(word)) || (wanted.length > 0 && !wanted.some(one => outcomes.includes(one)));
      count += row.hidden ? 0 : 1;
    }
    for (const body of document.querySelectorAll("#matrix tbody")) body.hidden = ![...body.querySelectorAll("tr[data-outcomes]")].some(row => !row.hidden);
    shown.textContent = count === rows.length ? "" : `${count} of ${rows.length} shown`;
  };
  search.addEventListener("input", filter);
  for (const button of buttons) button.addEventListener("click", () => { button.setAttribute("aria-pressed", button.getAttribute("aria-pressed") !== "true"); filter(); });
  const order = ["supported", "contradicted", "equivalent", "undecided", "not-comparable", "not-run", ""];
  const key = (row, place) => {
    const cell = row.cells[place], v = cell.querySelector(".v");
    if (v) return order.indexOf(v.className.split(" ")[1]);
    if (cell.classList.contains("c") && place > 1) return order.length;
    const mark = cell.querySelector("svg circle[cx], svg path");
    if (cell.classList.contains("effect-cell")) return mark ? -parseFloat(mark.getAttribute("cx") || 0) : 999;
    return cell.classList.contains("c") ? cell.textContent : place ? 99 : row.dataset.place;
  };
  rows.forEach((row, n) => { row.dataset.place = String(n).padStart(4, "0"); });
  document.querySelectorAll("#matrix thead th").forEach((head, place) => {
    const button = document.createElement("button");
    button.type = "button"; button.className = "sort"; button.append(...head.childNodes); head.append(button);
    button.addEventListener("click", () => {
      const back = head.getAttribute("aria-sort") === "ascending";
      document.querySelectorAll("#matrix thead th").forEach(one => one.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", back ? "descending" : "ascending");
      for (const body of document.querySelectorAll("#matrix tbody")) {
        const mine = rows.filter(row => row.parentNode === body);
        mine.sort((a, b) => { const x = key(a, place), y = key(b, place); return (x < y ? -1 : x > y ? 1 : 0) * (back ? -1 : 1); });
        body.append(...mine);
      }
    });
  });
  const reveal = () => {
    const there = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    const card = there && there.closest("details");
    if (card) { card.open = true; there.scrollIntoView(); }
  };
  addEventListener("hashchange", reveal);
  reveal();
  let closed = [];
  addEventListener("beforeprint", () => { closed = [...document.querySelectorAll("details:not([open]):not(.behind)")]; closed.forEach(one => { one.open = true; }); });
  addEventListener("afterprint", () => closed.forEach(one => { one.open = false; }));
})();
