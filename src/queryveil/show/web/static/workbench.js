"use strict";
// Pages work without this file; with it they follow jobs and previews by themselves.

const ask = async (address) => {
  const answer = await fetch(address, { headers: { accept: "application/json" }, redirect: "error", cache: "no-store" });
  return answer.json();
};

// -- jobs: follow one until it is over, then show what came of it --------------------------------------------------

const follow = (box) => {
  const bar = box.querySelector("progress");
  const list = box.querySelector("[data-stages]");
  let missed = 0;
  const look = async () => {
    let now;
    try {
      now = await ask(`/jobs/${box.dataset.job}`);
      missed = 0;
    } catch {
      missed += 1;
      if (missed > 20) { list.textContent = "The workbench does not answer. Is it still running? Load the page again."; return; }
      setTimeout(look, 1500);
      return;
    }
    if (["done", "failed", "cancelled"].includes(now.state)) { location.reload(); return; }
    if (now.share === null) { bar.removeAttribute("value"); } else { bar.value = now.share; }
    if (now.stages.length) {
      list.replaceChildren(...now.stages.map((one) => {
        const line = document.createElement("li");
        const name = document.createElement("b");
        name.textContent = one.name;
        line.append(name, ` ${one.said}`);
        return line;
      }));
    }
    setTimeout(look, 600);
  };
  look();
};

document.querySelectorAll("[data-job]").forEach(follow);

// -- copy -----------------------------------------------------------------------------------------------------------

document.querySelectorAll("[data-copy]").forEach((button) => {
  button.hidden = !navigator.clipboard;
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(button.parentElement.querySelector("code").textContent);
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = "Copy"; }, 1500);
  });
});
