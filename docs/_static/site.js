// Names for what the theme and the gallery leave without: screen readers say them. And where long names may break.
document.addEventListener("DOMContentLoaded", () => {
  for (const button of document.querySelectorAll("button.search-button-field")) {
    button.setAttribute("aria-label", button.textContent.replace(/\s+/g, " ").trim());
  }
  for (const link of document.querySelectorAll(".sphx-glr-thumbcontainer a.internal")) {
    link.setAttribute("aria-label", link.textContent.trim());
  }
  for (const summary of document.querySelectorAll(".bd-sidebar details > summary, .bd-sidebar-primary details > summary")) {
    const page = summary.closest("li")?.querySelector("a");
    summary.setAttribute("aria-label", `Pages below ${page ? page.textContent.trim() : "this one"}`);
  }
  for (const place of document.querySelectorAll(".bd-article :is(h1, h2), .prev-next-title")) {
    const texts = document.createTreeWalker(place, NodeFilter.SHOW_TEXT);
    const found = [];
    while (texts.nextNode()) found.push(texts.currentNode);
    for (const text of found) {
      const parts = text.data.split(/(?<=[a-z][._])(?=[a-z])/);
      text.replaceWith(...parts.flatMap((part, k) => (k ? [document.createElement("wbr"), part] : [part])));
    }
  }
});
