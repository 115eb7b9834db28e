(() => {
  const search = document.getElementById("search"), shown = document.getElementById("shown"), others = document.getElementById("others");
  const rows = [...document.querySelectorAll("[data-words]")], claims = rows.filter(row => row.tagName === "TR");
  const texts = new Map(rows.map(row => [row, (row.dataset.words + " " + (row.tagName === "SECTION" ? "" : row.textContent)).toLowerCase()]));
  document.querySelector(".tools").hidden = false;
  const filter = () => {
    const wanted = search.value.toLowerCase().trim().split(/\s+/).filter(Boolean);
    const exact = /^(table|figure) \d+[ab]?$/.test(search.value.toLowerCase().trim());
    for (const row of rows) {
      const text = texts.get(row);
      row.hidden = exact ? !text.includes(" " + wanted.join(" ") + " ") : !wanted.every(word => text.includes(word));
    }
    for (const body of document.querySelectorAll(".claims tbody")) body.hidden = ![...body.querySelectorAll("[data-words]")].some(row => !row.hidden);
    const count = claims.filter(row => !row.hidden).length;
    shown.textContent = count === claims.length ? "" : `${count} of ${claims.length} claims`;
  };
  search.addEventListener("input", filter);
  others.addEventListener("change", () => document.body.classList.toggle("all", others.checked));
  const reveal = () => {
    const target = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (target && target.tagName === "DETAILS") { target.open = true; target.scrollIntoView(); }
  };
  addEventListener("hashchange", reveal);
  reveal();
})();
