// SPDX-License-Identifier: GPL-2.0-only
"use strict";
/* Lets a reader of the charts hide lines, read values and zoom; without it they are all there to see. */
(() => {
  const SPAN = 20000, NEAR = 24, LEAST = 8;
  const each = (root, selector, act) => root.querySelectorAll(selector).forEach(act);
  const clear = (root, selector) => each(root, selector, (one) => one.remove());
  const within = (value, low, high) => Math.min(high, Math.max(low, value));

  /* The page's switches: which lines, and which kind of axis. */
  const switches = document.getElementById("switches");
  if (switches) {
    const apply = () => { for (const name of ["lines", "axis"]) document.body.dataset[name] = switches.elements[name].value; };
    switches.hidden = false;
    switches.addEventListener("change", apply);
    apply();
  }

  const number = (value, digits) => +value.toPrecision(digits) < 1e21 ? (+value.toPrecision(digits)).toLocaleString("en", { maximumSignificantDigits: digits }) : String(value);
  const valueAt = (axis, share) => axis.log ? axis.low * (axis.high / axis.low) ** share : axis.low + (axis.high - axis.low) * share;
  const shareOf = (axis, value) => axis.log ? Math.log(value / axis.low) / Math.log(axis.high / axis.low) : (value - axis.low) / (axis.high - axis.low);
  const percentile = (value) => `${+(100 * (1 - 1 / value)).toFixed(Math.max(1, Math.ceil(Math.log10(value))))} %`;
  const isPercentile = (axis) => axis.unit === "%" && axis.log;
  const date = (seconds) => new Date(seconds * 1000).toISOString().slice(0, 16).replace("T", " ");
  const written = (axis, value) => isPercentile(axis) ? percentile(value) : axis.unit === "date" ? date(value) : number(value, 6);
  const text = (axis, value) => axis.unit === "date" ? date(value) : isPercentile(axis) ? percentile(value) : `${number(value, 3)} ${axis.unit}`;

  /* Round values between low and high: 1, 2, 5 of each decade where there are several, else equal steps. */
  function ticks(axis, low, high) {
    if (axis.log && high / low > 8) {
      const few = high / low > 1e4 ? [1] : [1, 2, 5], found = [];
      for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); power++)
        for (const digit of few) found.push(digit * 10 ** power);
      return found.filter((value) => value >= low && value <= high);
    }
    const rough = (high - low) / 6, power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((digit) => digit * power).find((value) => value >= rough), found = [];
    for (let at = Math.ceil(low / step); at * step <= high; at++) found.push(at * step);
    return found;
  }

  /* What can be read of a path: points, and the level parts of steps with their ends. */
  function points(path) {
    if (path.points) return path.points;
    const found = [];
    let x = 0, y = 0;
    for (const [, command, rest] of path.getAttribute("d").matchAll(/([MhvlHV])([^MhvlHV]*)/g)) {
      const values = (rest.match(/-?\d+/g) || []).map(Number);
      if (command === "M") { [x, y] = values; found.push({ x, y, from: x, to: x }); }
      if (command === "h" && values[0]) { found.push({ x: x + values[0] / 2, y, from: Math.min(x, x + values[0]), to: Math.max(x, x + values[0]) }); x += values[0]; }
      if (command === "v") y += values[0];
      if (command === "l") for (let i = 0; i < values.length; i += 2) { x += values[i]; y += values[i + 1]; found.push({ x, y, from: x, to: x }); }
    }
    const steps = /[hv]-?[1-9]/.test(path.getAttribute("d"));
    path.points = steps ? found.filter((one) => one.from !== one.to) : found;
    return path.points;
  }

  each(document, "figure.chart", (figure) => {
    const names = {};
    each(figure, ".keys button", (button) => {
      const key = button.dataset.k;
      names[key] = button.textContent;
      const show = (one, on) => {
        one.setAttribute("aria-pressed", on);
        each(figure, `svg [data-k="${one.dataset.k}"]`, (mark) => mark.classList.toggle("off", !on));
      };
      const others = () => [...figure.querySelectorAll(".keys button")].filter((one) => one !== button && one.offsetParent);
      button.title = "click: hide or show; double click: this one alone, or all";
      button.addEventListener("click", () => show(button, button.getAttribute("aria-pressed") !== "true"));
      button.addEventListener("dblclick", () => {
        const alone = others().every((one) => one.getAttribute("aria-pressed") !== "true");
        others().forEach((one) => show(one, alone));
        show(button, true);
      });
    });
    each(figure, ".plot", (plot) => plotted(plot, names));
  });

  function plotted(plot, names) {
    const area = plot.querySelector(".area"), svg = area.querySelector(".drawn");
    const x = JSON.parse(plot.dataset.x), y = JSON.parse(plot.dataset.y);
    const whole = { texts: [plot.querySelector(".x").innerHTML, plot.querySelector(".y").innerHTML], mesh: svg.querySelector(".mesh").getAttribute("d") };
    let view = [0, 0, SPAN, SPAN], from = null;

    const place = (event) => {
      const box = svg.getBoundingClientRect();
      return { px: within(event.clientX - box.left, 0, box.width), py: within(event.clientY - box.top, 0, box.height), box };
    };
    const inView = ({ px, py, box }) => [view[0] + (px / box.width) * view[2], view[1] + (py / box.height) * view[3]];

    function nearest(event) {
      const at = place(event), [ux, uy] = inView(at);
      const sx = at.box.width / view[2], sy = at.box.height / view[3];
      let best = null, least = NEAR;
      each(svg, "path[d]:not(.mesh):not(.limits):not(.cells):not(.band):not(.off)", (path) => {
        if (getComputedStyle(path).display === "none") return;
        const own = path.classList.contains("dots") ? 4 : 0;
        points(path).forEach((point, index) => {
          const far = Math.hypot((within(ux, point.from, point.to) - ux) * sx, (point.y - uy) * sy) - own;
          if (far < least && point.y >= 0 && point.y <= SPAN) { least = far; best = { path, point, index }; }
        });
      });
      return best && { ...best, at };
    }

    function read(event) {
      clear(area, ".reading");
      each(svg, ".near", (path) => path.classList.remove("near"));
      const found = from ? null : nearest(event);
      if (!found) return;
      const { path, point, index, at } = found, texts = path.dataset.t ? JSON.parse(path.dataset.t) : null;
      const across = [point.from, point.to].map((unit) => text(x, valueAt(x, unit / SPAN)));
      const where = across[0] === across[1] || isPercentile(x) ? across[1] : `${across[0].replace(/ [^ ]*$/, "")} to ${across[1]}`;
      const up = y.rows ? "" : `${text(y, valueAt(y, 1 - point.y / SPAN))}, `;
      const box = document.createElement("div");
      box.className = "reading";
      box.textContent = `${names[path.dataset.k] ?? path.dataset.n}: ${texts ? texts[index] : up + where}`;
      path.classList.add("near");
      area.append(box);
      box.style.left = `${within(at.px + 14, 0, at.box.width - box.offsetWidth)}px`;
      box.style.top = `${at.py > 40 ? at.py - box.offsetHeight - 8 : at.py + 14}px`;
    }

    function label(folder, axis, low, high, upright) {
      const [a, b] = [valueAt(axis, low), valueAt(axis, high)];
      const shown = ticks(axis, a, b).map((value) => ({ value, share: (shareOf(axis, value) - low) / (high - low) }));
      folder.replaceChildren(...shown.map(({ value, share }) => {
        const text = document.createElementNS(folder.namespaceURI, "text");
        text.textContent = written(axis, value);
        text.setAttribute("x", upright ? "100%" : `${share * 100}%`);
        text.setAttribute("y", upright ? `${(1 - share) * 100}%` : "1rem");
        return text;
      }));
      return shown.map(({ value }) => shareOf(axis, value) * SPAN);
    }

    function zoom(next) {
      view = next;
      const isWhole = !next;
      if (isWhole) view = [0, 0, SPAN, SPAN];
      svg.setAttribute("viewBox", view.join(" "));
      clear(area, ".whole");
      each(area, ".pointer, .bar-text", (note) => note.classList.toggle("off", !isWhole));
      if (isWhole) {
        [plot.querySelector(".x").innerHTML, plot.querySelector(".y").innerHTML] = whole.texts;
        svg.querySelector(".mesh").setAttribute("d", whole.mesh);
        return;
      }
      const [left, top, width, height] = view;
      const upright = label(plot.querySelector(".x"), x, left / SPAN, (left + width) / SPAN, false);
      const level = y.rows ? [] : label(plot.querySelector(".y"), y, 1 - (top + height) / SPAN, 1 - top / SPAN, true);
      svg.querySelector(".mesh").setAttribute("d", upright.map((at) => `M${at} ${top}v${height}`).join("")
        + level.map((at) => `M${left} ${SPAN - at}h${width}`).join(""));
      const button = document.createElement("button");
      Object.assign(button, { type: "button", className: "whole", textContent: "show all", onclick: () => zoom(null) });
      area.append(button);
    }

    /* A box of the mouse zooms; one that is flat, or rows of bars, zoom the width alone. */
    function boxOf(event) {
      const to = place(event), flat = y.rows || Math.abs(to.py - from.py) < LEAST;
      const left = Math.min(from.px, to.px), top = flat ? 0 : Math.min(from.py, to.py);
      const width = Math.abs(to.px - from.px), height = flat ? to.box.height : Math.abs(to.py - from.py);
      return { left, top, width, height, box: to.box };
    }
    svg.addEventListener("pointerdown", (event) => {
      if (event.button || event.pointerType === "touch") return;
      from = place(event);
      svg.setPointerCapture(event.pointerId);
      event.preventDefault();
    });
    svg.addEventListener("pointermove", (event) => {
      clear(area, ".box");
      if (!from) { read(event); return; }
      const { left, top, width, height } = boxOf(event), box = document.createElement("div");
      box.className = "box";
      Object.assign(box.style, { left: `${left}px`, top: `${top}px`, width: `${width}px`, height: `${height}px` });
      area.append(box);
    });
    svg.addEventListener("pointerup", (event) => {
      if (!from) return;
      const { left, top, width, height, box } = boxOf(event);
      from = null;
      clear(area, ".box");
      if (width < LEAST) return;
      const [ux, uy] = [view[2] / box.width, view[3] / box.height];
      zoom([view[0] + left * ux, view[1] + top * uy, width * ux, height * uy].map(Math.round));
    });
    svg.addEventListener("pointerleave", () => { clear(area, ".reading"); each(svg, ".near", (path) => path.classList.remove("near")); });
    svg.addEventListener("dblclick", () => zoom(null));
  }
})();
