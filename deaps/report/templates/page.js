"use strict";

// Folded texts are opened for paper and folded again afterwards.
addEventListener("beforeprint", () => {
  for (const fold of document.querySelectorAll("details:not([open])")) {
    fold.dataset.folded = "";
    fold.open = true;
  }
});
addEventListener("afterprint", () => {
  for (const fold of document.querySelectorAll("details[data-folded]")) {
    delete fold.dataset.folded;
    fold.open = false;
  }
});

// What is wider than the screen says so, and fades where it goes on, until its end is shown.
for (const area of document.querySelectorAll(".more + .scroll")) {
  const sign = area.previousElementSibling;
  const update = () => {
    const rest = area.scrollWidth - area.clientWidth - area.scrollLeft;
    sign.hidden = area.scrollWidth <= area.clientWidth + 1;
    area.classList.toggle("goes-on", rest > 1);
  };
  area.addEventListener("scroll", update, { passive: true });
  new ResizeObserver(update).observe(area);
  update();
}

for (const figure of document.querySelectorAll("figure.map")) embeddingMap(figure);

function embeddingMap(figure) {
  const data = JSON.parse(figure.querySelector(".map-data").textContent);
  if (!data.x.length) return;
  const stage = figure.querySelector(".map-stage");
  const plot = stage.querySelector(".plot");
  const ring = stage.querySelector(".map-ring");
  const text = figure.querySelector(".map-text");
  const strip = figure.querySelector(".map-strip");
  const strips = new Int8Array(Uint8Array.from(atob(data.strips), (c) => c.charCodeAt(0)).buffer);
  const side = plot.viewBox.baseVal;
  let shown = 0;

  function show(point) {
    shown = point;
    ring.hidden = false;
    ring.style.left = `${(100 * data.x[point]) / side.width}%`;
    ring.style.top = `${(100 * data.y[point]) / side.height}%`;
    text.textContent = `${data.classes[data.label[point]]}, subject ${data.subject[point] + 1}`;
    figure.dataset.shown = point;
    drawStrip(strip, strips.subarray(point * data.samples, (point + 1) * data.samples), data);
  }

  function nearest(x, y, allowed = () => true) {
    let best = -1;
    let least = Infinity;
    for (let k = 0; k < data.x.length; k++) {
      const dx = data.x[k] - x;
      const dy = data.y[k] - y;
      if (dx * dx + dy * dy < least && allowed(dx, dy, k)) {
        least = dx * dx + dy * dy;
        best = k;
      }
    }
    return best;
  }

  function pointAt(event) {
    const box = plot.getBoundingClientRect();
    const x = ((event.clientX - box.left) / box.width) * side.width;
    const y = ((event.clientY - box.top) / box.height) * side.height;
    show(nearest(x, y));
  }

  // Within a right angle around the arrow's direction.
  const directions = {
    ArrowRight: (dx, dy) => dx > Math.abs(dy),
    ArrowLeft: (dx, dy) => -dx > Math.abs(dy),
    ArrowDown: (dx, dy) => dy > Math.abs(dx),
    ArrowUp: (dx, dy) => -dy > Math.abs(dx),
  };

  stage.addEventListener("pointermove", pointAt);
  stage.addEventListener("pointerdown", pointAt);
  stage.addEventListener("focus", () => show(shown));
  stage.addEventListener("keydown", (event) => {
    if (!(event.key in directions)) return;
    event.preventDefault();
    const next = nearest(data.x[shown], data.y[shown], directions[event.key]);
    if (next >= 0) show(next);
  });
  show(0);
}

function drawStrip(svg, bytes, data) {
  const { width, height } = svg.viewBox.baseVal;
  const values = Array.from(bytes, (byte) => byte * data.scale);
  const low = Math.min(-3, ...values);
  const high = Math.max(6, ...values);
  const seconds = data.samples / data.fs;
  const x = (second) => ((second / seconds) * width).toFixed(1);
  const y = (value) => (height * (1 - (value - low) / (high - low))).toFixed(1);
  const lines = (step, unit) => {
    let path = "";
    for (let k = 0; k * step <= seconds + 1e-9; k++) path += `M${x(k * step)} 0V${height}`;
    for (let k = Math.ceil(low / unit); k * unit <= high; k++) path += `M0 ${y(k * unit)}H${width}`;
    return path;
  };
  svg.querySelector(".fine").setAttribute("d", lines(0.2, 1));
  svg.querySelector(".coarse").setAttribute("d", lines(1, 5));
  const trace = values.map((value, k) => `${x(k / data.fs)} ${y(value)}`).join("L");
  svg.querySelector(".trace").setAttribute("d", `M${trace}`);
}
