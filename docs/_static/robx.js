/* Wide tables: tell readers that there are more columns, and at which side. */
(() => {
  const watch = (scroller) => {
    const wrapper = document.createElement("div");
    wrapper.className = "wide-table";
    const hint = document.createElement("p");
    hint.className = "table-hint";
    hint.textContent = "Scroll sideways for more columns →";
    scroller.replaceWith(wrapper);
    wrapper.append(hint, scroller);
    const look = () => {
      const hidden = scroller.scrollWidth - scroller.clientWidth;
      wrapper.classList.toggle("is-cut", hidden > 1);
      wrapper.classList.toggle("more-left", hidden > 1 && scroller.scrollLeft > 1);
      wrapper.classList.toggle("more-right", hidden > 1 && scroller.scrollLeft < hidden - 1);
      wrapper.style.setProperty("--table-top", `${scroller.offsetTop}px`);
      // Whoever has no mouse scrolls with the keyboard.
      if (hidden > 1) scroller.setAttribute("tabindex", "0");
      else scroller.removeAttribute("tabindex");
    };
    scroller.addEventListener("scroll", look, { passive: true });
    new ResizeObserver(look).observe(scroller);
    look();
  };
  const start = () => document.querySelectorAll(".bd-article .pst-scrollable-table-container").forEach(watch);
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start);
  else start();
})();
