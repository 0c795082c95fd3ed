// A page opened from the disk may not read other pages: there, results of a search have no excerpts.
if (location.protocol === "file:") DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;
// A short name stays in one piece; a long one in a table may break behind its dots and strokes.
document.addEventListener("DOMContentLoaded", () => document.querySelectorAll("article code .pre").forEach((name) => {
  if (name.textContent.length <= 20) name.style.whiteSpace = "nowrap";
  else if (name.closest("td")) name.innerHTML = name.innerHTML.replace(/(::|[._/,(=])(?=[\w(])/g, "$1<wbr>");
}));
