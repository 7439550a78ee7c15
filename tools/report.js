// Shows the figures of what is pointed at; the page is complete without. There is no less-than
// sign and no ampersand, for the page is to be XML as well.
(function () {
  'use strict';
  // Each: first and last event, microseconds, least and most active bytes, most managed bytes,
  // most held bytes, hits, misses, refused.
  const spans = JSON.parse(document.getElementById('spans').textContent);
  const plots = Array.from(document.querySelectorAll('svg.plot'));
  const tip = document.getElementById('tip');
  const left = 64, right = 976; // of the axes, as in report_plot.h
  const rows = spans[spans.length - 1][1];

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
    const [first, last, time, least, most, managed, held, hits, misses, refused] = span;
    const lines = [
      first === last ? 'Event ' + count(first)
                     : 'Events ' + count(first) + ' to ' + count(last),
      'In use: ' + range(least, most),
      'Held: ' + bytes(held),
      'Managed: ' + bytes(managed)
    ];
    if (time > 0)
      lines.splice(1, 0, 'After ' + (time / 1e6).toFixed(3) + ' s');
    if (hits + misses > 0)
      lines.push('Hits: ' + count(hits) + ' of ' + count(hits + misses));
    if (refused > 0)
      lines.push('Refused: ' + count(refused));
    return lines.join('\n');
  }

  function spanAt(row) {
    const size = spans[0][1] - spans[0][0] + 1;
    return spans[Math.min(spans.length - 1, Math.floor(row / size))];
  }

  function hide() {
    tip.hidden = true;
    plots.forEach(plot => plot.querySelector('.pointer').setAttribute('visibility', 'hidden'));
  }

  // The lines of both charts move together: they have the same events across.
  function show(event) {
    const box = event.currentTarget.getBoundingClientRect();
    const x = (event.clientX - box.left) / box.width * 1000;
    if (left > x || x > right)
      return hide();
    plots.forEach(function (plot) {
      const pointer = plot.querySelector('.pointer');
      pointer.setAttribute('transform', 'translate(' + x.toFixed(1) + ' 0)');
      pointer.setAttribute('visibility', 'visible');
    });
    tip.textContent = describe(spanAt((x - left) / (right - left) * rows));
    tip.hidden = false;
    const room = document.documentElement.clientWidth - tip.offsetWidth - 8;
    const beside = event.clientX + 16 > room ? event.clientX - tip.offsetWidth - 16
                                             : event.clientX + 16;
    tip.style.left = Math.max(4, beside) + window.scrollX + 'px';
    tip.style.top = event.clientY + 16 + window.scrollY + 'px';
  }

  plots.forEach(function (plot) {
    plot.addEventListener('pointermove', show);
    plot.addEventListener('pointerleave', hide);
  });
}());
