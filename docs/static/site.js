// A page opened from the disk may not read other pages: there, results of a search have no excerpts.
if (location.protocol === "file:") DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;
// A long name in a table may break behind its dots and strokes.
document.addEventListener("DOMContentLoaded", () => document.querySelectorAll("article td code .pre").forEach((name) => {
  if (name.textContent.length > 20) name.innerHTML = name.innerHTML.replace(/(::|[._/,(=])(?=[\w(])/g, "$1<wbr>");
}));
