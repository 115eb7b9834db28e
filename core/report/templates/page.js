(() => {
  const search = document.getElementById("search"), shown = document.getElementById("shown"), others = document.getElementById("others");
  const rows = [...document.querySelectorAll("[data-words]")], claims = rows.filter(row => row.closest(".claims")), tables = rows.filter(row => row.closest(".overview"));
  const said = row => row.tagName === "SECTION" ? [...row.querySelectorAll("h2, summary, blockquote")].map(part => part.textContent).join(" ") : row.textContent;
  const texts = new Map(rows.map(row => [row, (row.dataset.words + " " + said(row)).toLowerCase()]));
  const groups = [...document.querySelectorAll(".claims tbody, .overview tbody, #settled, #tables, #claims")];
  document.querySelector(".tools").hidden = false;
  const filter = () => {
    const words = search.value.toLowerCase().trim().split(/\s+/).filter(Boolean);
    const has = (text, word) => /\d/.test(word) ? text.split(/[^\p{L}\d.]+/u).includes(word) : text.includes(word);
    for (const row of rows) row.hidden = !words.every(word => has(texts.get(row), word));
    for (const group of groups) group.hidden = ![...group.querySelectorAll("[data-words]")].some(row => !row.hidden);
    for (const part of document.querySelectorAll(".whole")) part.hidden = Boolean(search.value.trim());
    const count = list => list.filter(row => !row.hidden).length;
    if (!search.value.trim()) shown.textContent = "";
    else if (rows.every(row => row.hidden)) shown.textContent = "Nothing found. Search a paper with its table or figure (MoCoSE Table 7), a claim (E7.1), words of a claim (queue), or csv.";
    else shown.textContent = `${count(tables)} of ${tables.length} tables and figures, ${count(claims)} of ${claims.length} claims`;
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
