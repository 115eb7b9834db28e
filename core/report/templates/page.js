(() => {
  const search = document.getElementById("search"), shown = document.getElementById("shown"), others = document.getElementById("others");
  const claims = [...document.querySelectorAll(".claims [data-words]")], studies = [...document.querySelectorAll("details.study")];
  const whole = text => text.toLowerCase().replace(/(not) (run)|(no) (verdict)/g, (all, a, b, c, d) => `${a || c}\u00a0${b || d}`);
  const texts = new Map([...claims, ...studies].map(part => [part, part.dataset.words.toLowerCase()]));
  const common = new Set("a an and any are at be better by can did do does for from good has have help helpful helps hold holds how in is it make makes matter matters much my of on one or that the there they this to too use was what when where which who why will with work works".split(" "));
  document.querySelector(".tools").hidden = false;
  const filter = () => {
    const has = (text, word) => /\d/.test(word) ? text.split(/[^\p{L}\d.]+/u).includes(word) : text.includes(word);
    const asked = whole(search.value).split(/[ \t?,;!]+/).filter(word => word && !common.has(word));
    const known = asked.filter(word => /\d/.test(word) || [...texts.values()].some(text => has(text, word)));
    const words = known.length ? known : asked;
    const found = part => words.every(word => has(texts.get(part), word));
    for (const claim of claims) claim.hidden = !found(claim);
    for (const study of studies) {
      const some = study.querySelector(".claims [data-words]:not([hidden])"), own = found(study);
      study.hidden = !own && !some;
      if (own) for (const claim of study.querySelectorAll(".claims [data-words]")) claim.hidden = false;
      if (words.length) study.open = Boolean(some) && studies.length > 1;
    }
    for (const part of document.querySelectorAll(".whole")) part.hidden = words.length > 0;
    const count = list => list.filter(part => !part.hidden).length;
    if (!words.length) { shown.textContent = ""; for (const study of studies) study.open = false; }
    else if (studies.every(study => study.hidden)) shown.textContent = "Nothing found. Search a paper with its table or figure (MoCoSE Table 7), a claim (E7.1), or words of a question (does repetition help).";
    else shown.textContent = `${count(studies)} of ${studies.length} tables and figures, ${count(claims)} of ${claims.length} claims`;
  };
  search.addEventListener("input", filter);
  for (const link of document.querySelectorAll("[data-query]")) link.addEventListener("click", () => { search.value = link.dataset.query; filter(); });
  others.addEventListener("change", () => document.body.classList.toggle("all", others.checked));
  const reveal = () => {
    const target = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!target) return;
    for (let part = target; part; part = part.parentElement) if (part.tagName === "DETAILS") part.open = true;
    target.scrollIntoView();
  };
  addEventListener("hashchange", reveal);
  reveal();
})();
