// Shows the figures of what is pointed at, touched, or reached with the arrow keys; the page is
// complete without. There is no less-than sign and no ampersand: the page is to be XML as well.
(function () {
  'use strict';
  const plots = Array.from(document.querySelectorAll('svg.plot'));
  const tip = document.getElementById('tip');
  const left = 64, right = 976; // of the axes, as in report_plot.h
  const read = {};

  // Each: first and last event, microseconds, least and most active bytes, most managed bytes,
  // most held bytes, most bytes of the device, hits, misses, refused.
  function spansOf(plot) {
    const id = plot.dataset.of;
    read[id] = read[id] || JSON.parse(document.getElementById(id).textContent);
    return read[id];
  }

  function bytes(count) {
    const units = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB', 'EiB'];
    let unit = 0;
    for (; count >= 1024; unit++)
      count /= 1024;
    return count.toFixed(unit ? 2 : 0) + ' ' + units[unit];
  }

  function range(least, most) {
    return least === most ? bytes(most) : bytes(least) + ' to ' + bytes(most);
  }

  function count(number) {
    return number.toLocaleString('en');
  }

  function describe(span) {
    const [first, last, time, least, most, managed, held, device, hits, misses, refused] = span;
    const lines = [
      first === last ? 'Event ' + count(first)
                     : 'Events ' + count(first) + ' to ' + count(last),
      'In use: ' + range(least, most),
      'Held: ' + bytes(held),
      'Managed: ' + bytes(managed)
    ];
    if (time > 0)
      lines.splice(1, 0, 'After ' + (time / 1e6).toFixed(3) + ' s');
    if (device !== managed)
      lines.push('Of the device: ' + bytes(device));
    if (hits + misses > 0)
      lines.push('Hits: ' + count(hits) + ' of ' + count(hits + misses));
    if (refused > 0)
      lines.push('Refused: ' + count(refused));
    return lines.join('\n');
  }

  function indexAt(spans, row) {
    const size = spans[0][1] - spans[0][0] + 1;
    return Math.max(0, Math.min(spans.length - 1, Math.floor(row / size)));
  }

  function hide() {
    tip.hidden = true;
    plots.forEach(plot => plot.querySelector('.pointer').setAttribute('visibility', 'hidden'));
  }

  // The lines of all charts move together: they have the same events across.
  function showAt(plot, x, top) {
    const box = plot.getBoundingClientRect();
    const spans = spansOf(plot);
    const part = (x - left) / (right - left);
    plots.forEach(function (each) {
      const pointer = each.querySelector('.pointer');
      pointer.setAttribute('transform', 'translate(' + x.toFixed(1) + ' 0)');
      pointer.setAttribute('visibility', 'visible');
    });
    tip.textContent = describe(spans[indexAt(spans, part * spans[spans.length - 1][1])]);
    tip.hidden = false;
    const at = box.left + x / 1000 * box.width;
    const room = document.documentElement.clientWidth - tip.offsetWidth - 8;
    const beside = at + 16 > room ? at - tip.offsetWidth - 16 : at + 16;
    tip.style.left = Math.max(4, beside) + window.scrollX + 'px';
    tip.style.top = top + 16 + window.scrollY + 'px';
  }

  function show(event) {
    const box = event.currentTarget.getBoundingClientRect();
    const x = (event.clientX - box.left) / box.width * 1000;
    if (left > x || x > right)
      return hide();
    showAt(event.currentTarget, x, event.clientY);
  }

  // Of the part that scrolls and has a chart: arrows go a step, with Shift twenty, and scroll.
  function follow(plot) {
    const wide = plot.parentElement;
    let index = -1;
    wide.addEventListener('keydown', function (event) {
      const spans = spansOf(plot), last = spans.length - 1, step = event.shiftKey ? 20 : 1;
      const ways = {ArrowLeft: index - step, ArrowRight: index + step, Home: 0, End: last};
      if (event.key === 'Escape')
        return hide();
      if (!(event.key in ways))
        return;
      event.preventDefault();
      index = Math.max(0, Math.min(last, ways[event.key]));
      const row = (spans[index][0] - 1 + spans[index][1]) / 2;
      const x = left + row / spans[last][1] * (right - left);
      wide.scrollLeft = x / 1000 * plot.clientWidth - wide.clientWidth / 2;
      showAt(plot, x, plot.getBoundingClientRect().top);
    });
    wide.addEventListener('blur', hide);
    plot.addEventListener('pointerdown', show);
    plot.addEventListener('pointermove', show);
    plot.addEventListener('pointerleave', function (event) {
      if (event.pointerType !== 'touch') // the finger is gone, and the figures are to be read
        hide();
    });
  }

  plots.filter(plot => !plot.classList.contains('small')).forEach(follow);
}());
