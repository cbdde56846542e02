// Names for what the theme and the gallery leave without: screen readers say them.
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
});
