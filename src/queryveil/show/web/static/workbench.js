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

// -- previews: follow what is typed ---------------------------------------------------------------------------------

const numbers = new Intl.NumberFormat("en", { maximumSignificantDigits: 4 });
const shares = (value) => (value > 0 && value < 0.001 ? "under 0.1 %" : `${numbers.format(Number((100 * value).toPrecision(value < 0.1 ? 2 : 3)))} %`);
const shown = (name, value) => {
  if (value === null || value === undefined) { return "–"; }
  return name === "published" ? numbers.format(value >= 100 ? Math.round(value) : value) : shares(value);
};
const listed = (box, texts, kind) => box.replaceChildren(...texts.map((text) => {
  const line = document.createElement("li");
  line.className = kind;
  line.textContent = text;
  return line;
}));

const preview = (form) => {
  const page = document;
  const typed = () => new URLSearchParams([...new FormData(form)].filter(([, value]) => value !== ""));
  let last = 0;
  const show = (found) => {
    const words = found.words;
    const plain = page.querySelector("[data-plain]");
    plain.textContent = words.error ? `${words.error}. ${words.hint}` : words.plain;
    plain.classList.toggle("wrong", Boolean(words.error));
    page.querySelector("[data-headline]").textContent = words.headline || "";
    const badge = page.querySelector("[data-step]");
    badge.className = `badge ${words.step || ""}`;
    badge.textContent = words.step === "none" ? "no promise" : words.step || "";
    listed(page.querySelector("[data-notes]"), words.warnings || [], "wrong");
    const figures = page.querySelector("[data-figures]");
    if (figures) {
      figures.querySelectorAll("[data-figure]").forEach((one) => { one.textContent = shown(one.dataset.figure, found.figures && found.figures[one.dataset.figure]); });
      if (found.figures) { figures.querySelector("[data-items]").textContent = `${found.figures.items} published`; }
      page.querySelector("[data-why]").textContent = (found.figures && found.figures.why_not) || "";
      page.querySelector("[data-price]").textContent = found.price;
      figures.classList.remove("busy");
    }
    const [command, python] = page.querySelectorAll(".same code");
    command.textContent = found.command;
    python.textContent = found.python;
  };
  const carry = (query) => {
    page.querySelector("[data-setting-link]").href = page.querySelector("[data-setting-link]").href.replace(/\?.*/, `?${query}`);
    const keep = page.querySelector("[data-setting-form]");
    keep.querySelectorAll("input:not([name=csrf])").forEach((one) => one.remove());
    for (const [name, value] of query) {
      const hidden = document.createElement("input");
      Object.assign(hidden, { type: "hidden", name, value });
      keep.append(hidden);
    }
    history.replaceState(null, "", `?${query}`);
  };
  const look = async () => {
    const mine = ++last;
    const query = typed();
    const figures = page.querySelector("[data-figures]");
    if (figures) { figures.classList.add("busy"); }
    try {
      const found = await ask(`${form.dataset.preview}?${query}`);
      if (mine === last) { show(found); }
    } catch {
      if (mine === last) { page.querySelector("[data-plain]").textContent = "The workbench does not answer. Is it still running?"; }
    }
  };
  let waiting;
  form.addEventListener("input", () => { carry(typed()); clearTimeout(waiting); waiting = setTimeout(look, 120); });
  form.querySelector("[data-submits]").addEventListener("change", (event) => {
    location.search = `?method=${encodeURIComponent(event.target.value)}`;
  });
  form.addEventListener("submit", (event) => { event.preventDefault(); look(); });
  form.querySelectorAll("[data-slides]").forEach((slider) => {
    const field = document.getElementById(slider.dataset.slides);
    slider.hidden = false;
    const follow = () => { if (Number(field.value) > 0) { slider.value = Math.log10(Number(field.value)); } };
    follow();
    field.addEventListener("input", follow);
    slider.addEventListener("input", () => { field.value = Number((10 ** Number(slider.value)).toPrecision(2)); });
  });
  // What was typed before this file was there, or what the browser filled in again, is followed too.
  const changed = (one) => (["checkbox", "radio"].includes(one.type) ? one.checked !== one.defaultChecked : one.value !== one.defaultValue);
  if ([...form.querySelectorAll("input:not([data-slides])")].some(changed)) { form.dispatchEvent(new Event("input")); }
};

document.querySelectorAll("[data-preview]").forEach(preview);

// -- a figure over epsilon ------------------------------------------------------------------------------------------

document.querySelectorAll("[data-curve]").forEach((box) => {
  box.hidden = false;
  const button = box.querySelector("button");
  button.addEventListener("click", async () => {
    button.disabled = true;
    let found;
    try {
      found = await ask(`${box.dataset.curve}${location.search}`);
    } catch {
      box.querySelector("[data-help]").textContent = "The workbench does not answer. Is it still running?";
      box.querySelector("[data-help]").hidden = false;
      button.disabled = false;
      return;
    }
    box.querySelector(".chart").innerHTML = found.figure; // drawn and escaped by the workbench
    box.querySelector("tbody").replaceChildren(...found.rows.map((one) => {
      const line = document.createElement("tr");
      const head = document.createElement("th");
      const cell = document.createElement("td");
      head.scope = "row";
      cell.className = "right";
      head.textContent = one.epsilon;
      cell.textContent = numbers.format(one.published);
      line.append(head, cell);
      return line;
    }));
    box.querySelectorAll("[data-numbers]").forEach((part) => { part.hidden = false; });
    document.querySelector("[data-price]").textContent = found.price;
    button.disabled = false;
  });
});

document.querySelectorAll("[data-submit-on-change]").forEach((one) => one.addEventListener("change", () => one.form.requestSubmit()));
document.querySelectorAll("[data-scripted-away]").forEach((one) => { one.hidden = true; });
