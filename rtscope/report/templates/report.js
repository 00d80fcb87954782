"use strict";
/* Draws the figures from the page's data block; names of machines in it are escaped for plotly. */
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const switches = document.getElementById("switches");
  /* Okabe and Ito's colours, which people with any colour vision can tell apart, without black. */
  const colours = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#8C7AE6", "#8A8A00"];
  const dashes = ["solid", "dash", "dot", "dashdot", "longdash", "longdashdot"];
  const several = data.runs.length > 1;
  const state = { each: data.each, log: true };
  /* A measurement is nobody else's: plotly's button that uploads the figure goes, and its address too. */
  const config = { responsive: true, displaylogo: false, plotlyServerURL: "",
    modeBarButtonsToRemove: ["sendChartToCloud", "sendDataToCloud", "lasso2d", "select2d"] };

  const groups = new Set(data.series.filter((s) => s.total).map((s) => s.colour)).size;
  const shown = () => data.series.filter((s) => (state.each ? !s.total : s.total || s.lone));
  const nameOf = (s) => (several ? `${data.runs[s.run]}, ` : "") + s.name;
  const lineOf = (s) => {
    const byRun = several && !state.each && groups === 1;
    const colour = byRun ? s.run : s.colour;
    const turn = several && !byRun ? s.run : Math.floor(colour / colours.length);
    return { color: colours[colour % colours.length], dash: dashes[turn % dashes.length], width: 1.5 };
  };
  const time = (us) => us < 10000 ? `${us.toFixed(us < 1 ? 3 : us < 100 ? 2 : 1)} us`
    : us < 1e7 ? `${(us / 1000).toFixed(2)} ms` : `${(us / 1e6).toFixed(2)} s`;
  /* A logarithmic axis has no place for 0 ns: it stands at half a nanosecond. */
  const onAxis = (us) => (state.log && us !== null ? Math.max(us, 5e-4) : us);
  const powers = (from, to) => Array.from({ length: to - from + 1 }, (_, i) => 10 ** (from + i));
  const number = (n) => n.toLocaleString("en", { maximumFractionDigits: 3 });
  const logTicks = powers(-3, 12).flatMap((n) => [n, 2 * n, 5 * n]);
  const latencyAxis = (more) => Object.assign({
    title: { text: `${data.quantity} (us)` }, type: state.log ? "log" : "linear", zeroline: false, automargin: true,
    tickvals: state.log ? logTicks : undefined, ticktext: state.log ? logTicks.map(number) : undefined,
    exponentformat: "none", separatethousands: true,
    rangemode: state.log ? "normal" : "tozero",
  }, more);
  const layout = (more) => Object.assign({
    margin: { l: 70, r: 20, t: 20, b: 50 }, paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
    font: { family: 'system-ui, "DejaVu Sans", sans-serif', size: 12, color: "#777" }, hovermode: "closest",
    modebar: { bgcolor: "rgba(0,0,0,0)", color: "#999", activecolor: "#555" },
    showlegend: shown().length + data.marks.length > 1, legend: { itemsizing: "constant", tracegroupgap: 0 },
  }, more);

  /* One step a bin; where bins do not touch, the line falls to nothing between them. */
  function steps(bins) {
    const x = [], y = [], text = [];
    const point = (at, count, words) => { x.push(onAxis(at)); y.push(count); text.push(words); };
    bins.low.forEach((low, i) => {
      const high = bins.high[i], count = bins.count[i];
      if (i === 0 || bins.high[i - 1] < low) point(low, 0.1, "");
      const span = high - low <= 0.0011 ? time(low) : `${time(low)} to ${time(high)}`;
      point(low, count, `${count.toLocaleString("en")} at ${span}`);
      if (i === bins.low.length - 1 || bins.low[i + 1] > high) point(high, 0.1, "");
    });
    return { x, y, text };
  }

  function marker(s, x, y, symbol, words) {
    return { x: [x], y: [y], mode: "markers", showlegend: false, legendgroup: nameOf(s), hoverinfo: "text",
      text: [words], marker: { color: lineOf(s).color, symbol, size: 9, line: { width: 1, color: "#888" } } };
  }

  /* What samples are held against: a line across the figure, from `from` to `to` of its other axis. */
  function markLines(from, to, upright) {
    return data.marks.map((mark, i) => ({ [upright ? "x" : "y"]: [mark.at, mark.at], [upright ? "y" : "x"]: [from, to],
      mode: "lines", name: mark.text, legendgroup: mark.text, hoverinfo: "name", line: { color: "#888", width: 1.5, dash: dashes[1 + i % 5] } }));
  }

  function worstOf(lines) {
    return lines.reduce((worst, s) => (s.worst !== undefined && (!worst || s.worst > worst.worst) ? s : worst), null);
  }

  const binTitle = () => state.log ? `samples (bins ${((data.ratio - 1) * 100).toFixed(1)} % wide)`
    : `samples (bins ${number(data.width_us)} us wide)`;

  function histogram() {
    const lines = shown(), traces = [];
    for (const s of lines) {
      const drawn = steps(state.log ? s.log : s.linear);
      traces.push({ ...drawn, name: nameOf(s), legendgroup: nameOf(s), mode: "lines", line: { ...lineOf(s), shape: "hv" },
        hoverinfo: drawn.text.map((text) => (text ? "text+name" : "skip")) });
      if (s.worst !== undefined) traces.push(marker(s, s.worst, 1, "circle", `${nameOf(s)}: worst ${time(s.worst)}`));
      if (s.beyond) traces.push(marker(s, s.beyond[0], s.beyond[1], "triangle-right",
        `${nameOf(s)}: ${s.beyond[1].toLocaleString("en")} at ${time(s.beyond[0])} or later`));
    }
    const top = Math.max(1, ...lines.flatMap((s) => (state.log ? s.log : s.linear).count));
    traces.push(...markLines(0.7, 2 * top, true));
    const worst = worstOf(lines);
    const notes = worst ? [{ x: state.log ? Math.log10(Math.max(worst.worst, 1e-3)) : worst.worst, y: 0,
      text: `worst: ${time(worst.worst)}, ${nameOf(worst)}`, showarrow: true, arrowcolor: "#888", ax: 0, ay: -45,
      xanchor: "right", font: { size: 12 } }] : [];
    Plotly.react("histogram", traces, layout({ xaxis: latencyAxis({}), annotations: notes,
      yaxis: { title: { text: binTitle() }, type: "log", range: [Math.log10(0.7), Math.log10(top) + 0.3],
        tickvals: powers(0, Math.ceil(Math.log10(top))), ticktext: powers(0, Math.ceil(Math.log10(top))).map(number), zeroline: false, automargin: true } }), config);
  }

  function percentiles() {
    const lines = shown(), traces = [];
    for (const s of lines) {
      traces.push({ x: s.curve.x, y: s.curve.y.map(onAxis), name: nameOf(s), legendgroup: nameOf(s), mode: "lines",
        line: { ...lineOf(s), shape: "hv" }, hoverinfo: "text+name",
        text: s.curve.x.map((x, i) => `${time(s.curve.y[i])} at ${+(100 * (1 - 1 / x)).toPrecision(9)} %`) });
      if (s.beyond && s.curve.x.length) traces.push(marker(s, s.curve.x.at(-1), s.beyond[0], "triangle-up",
        `${nameOf(s)}: the rest is ${time(s.beyond[0])} or later`));
    }
    const most = Math.max(10, ...lines.flatMap((s) => s.curve.x.slice(-1)));
    const nines = powers(1, Math.ceil(Math.log10(most)));
    const label = (x) => `${(100 - 100 / x).toFixed(Math.max(0, Math.round(Math.log10(x)) - 2))} %`;
    traces.push(...markLines(1, most, false));
    Plotly.react("percentiles", traces, layout({ yaxis: latencyAxis({}),
      xaxis: { title: { text: "percentile" }, type: "log", range: [0, Math.log10(most) + 0.05], zeroline: false,
        tickvals: [1, 2, ...nines], ticktext: ["0 %", "50 %", ...nines.map(label)] } }), config);
  }

  function overTime() {
    const traces = [];
    for (const s of shown()) {
      if (!s.time.t.length) continue;
      const one = (y, kind, line, legend) => traces.push({ x: s.time.t, y: y.map(onAxis), name: nameOf(s), legendgroup: nameOf(s),
        showlegend: legend, mode: s.time.t.length > 1 ? "lines" : "markers", line, opacity: kind === "max" ? 1 : 0.6,
        hoverinfo: "text+name", text: y.map((v, i) => (v === null ? "" : `${kind} ${time(v)} until ${s.time.t[i].toFixed(2)} s`)) });
      one(s.time.max, "max", { ...lineOf(s), shape: "vh" }, true);
      one(s.time.mean, "mean", { ...lineOf(s), dash: "dot", width: 1 }, false);
      traces.push({ x: s.spikes.map((p) => p[0]), y: s.spikes.map((p) => onAxis(p[1])), name: nameOf(s), legendgroup: nameOf(s),
        showlegend: false, mode: "markers", hoverinfo: "text+name", marker: { color: lineOf(s).color, symbol: "circle-open", size: 6 },
        text: s.spikes.map((p) => `${time(p[1])} at ${p[0].toFixed(6)} s`) });
    }
    const last = Math.max(...data.series.flatMap((s) => s.time.t.slice(-1)));
    traces.push(...markLines(0, last, false));
    Plotly.react("time", traces, layout({ yaxis: latencyAxis({ title: { text: `max ${data.quantity}, and mean dotted (us)` } }),
      xaxis: { title: { text: "since the start (s)" }, zeroline: false, rangemode: "tozero" } }), config);
  }

  /* Figures of one probe: traces and layout come as they are, but for colours and what all have in common. */
  function chart(one) {
    const traces = one.traces.map(({ colour, dash, ...trace }) => {
      const own = { color: colour < 0 ? "#888" : colours[colour % colours.length] };
      if (trace.type === "heatmap") return trace;
      if (trace.type === "bar") return { ...trace, marker: own };
      if (trace.mode === "markers") return { ...trace, marker: { ...own, size: 10 } };
      return { ...trace, line: { ...own, width: 1.5, dash: dashes[dash || 0], shape: trace.line?.shape } };
    });
    const log = (axis) => (axis && axis.type === "log" ? { tickvals: logTicks, ticktext: logTicks.map(number), ...axis } : axis);
    const axes = Object.fromEntries(Object.entries(one.layout).map(([key, value]) =>
      [key, /^[xy]axis/.test(key) ? { zeroline: false, automargin: true, exponentformat: "none", ...log(value) } : value]));
    Plotly.react(one.id, traces, layout({ showlegend: traces.filter((t) => t.showlegend !== false).length > 1, ...axes }), config);
  }

  function draw() {
    if (document.getElementById("histogram")) { histogram(); percentiles(); }
    if (document.getElementById("time")) overTime();
  }
  data.charts.forEach(chart);

  if (switches) {
    switches.hidden = false;
    switches.elements.lines.value = state.each ? "each" : "all";
    switches.addEventListener("change", () => {
      state.each = switches.elements.lines.value === "each";
      state.log = switches.elements.axis.value === "log";
      draw();
    });
  }
  draw();
})();
