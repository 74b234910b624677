// Draws what arithmatex marked as maths. Nothing is loaded from elsewhere: KaTeX is beside this file.
document.addEventListener("DOMContentLoaded", function () {
  document.querySelectorAll(".arithmatex").forEach(function (place) {
    var text = place.textContent.trim();
    var display = text.startsWith("\\[");
    katex.render(text.slice(2, -2), place, { displayMode: display, throwOnError: false });
  });
});
