// Shows the figures of what is pointed at, touched, or reached with the arrow keys, and zooms.
// The page is complete without. There is no less-than sign and no ampersand: it is XML as well.
(function () {
  'use strict';
  const plot = document.querySelector('svg.plot'), tip = document.getElementById('tip');
  const left = 84, right = 956; // of the axes, as in report_timeline.c

  function bytes(count) {
    const units = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB', 'EiB'];
    let unit = 0;
    for (; count >= 1024; unit++)
      count /= 1024;
    return count.toFixed(unit ? 2 : 0) + ' ' + units[unit];
  }

  // Shows words beside a place of the window.
  function say(words, x, y) {
    tip.textContent = words;
    tip.hidden = false;
    const room = document.documentElement.clientWidth - tip.offsetWidth - 8;
    const beside = x + 16 > room ? x - tip.offsetWidth - 16 : x + 16;
    tip.style.left = Math.max(4, beside) + window.scrollX + 'px';
    tip.style.top = y + 16 + window.scrollY + 'px';
  }

  function hide() {
    tip.hidden = true;
    plot.querySelector('.pointer').setAttribute('visibility', 'hidden');
  }

  // Says what is pointed at; where that was a finger, the words stay when it is gone.
  function follow(element, show) {
    element.addEventListener('pointerdown', show);
    element.addEventListener('pointermove', show);
    element.addEventListener('pointerleave',
                             event => event.pointerType === 'touch' || hide());
  }

  // The chart's steps: first and last event, microseconds, least and most active bytes, most
  // managed bytes, most held bytes, most bytes of the device, hits, misses, refused.
  function describe(step) {
    const count = number => number.toLocaleString('en');
    const [first, last, time, least, most, managed, held, device] = step;
    const [hits, misses, refused] = step.slice(8);
    return [
      first === last ? 'Event ' + count(first)
                     : 'Events ' + count(first) + ' to ' + count(last),
      time > 0 ? 'After ' + (time / 1e6).toFixed(3) + ' s' : '',
      'In use: ' + (least === most ? '' : bytes(least) + ' to ') + bytes(most),
      'Held: ' + bytes(held),
      'In the pool: ' + bytes(managed),
      device === managed ? '' : 'Of the device: ' + bytes(device),
      hits + misses > 0 ? 'Hits: ' + count(hits) + ' of ' + count(hits + misses) : '',
      refused > 0 ? 'Refused: ' + count(refused) : ''
    ].filter(Boolean).join('\n');
  }

  // Arrows go a step, with Shift twenty, and scroll what the chart is in.
  function chart() {
    const steps = JSON.parse(document.getElementById('spans').textContent);
    const last = steps.length - 1, wide = plot.parentElement;
    let index = -1;

    function showAt(x, top) {
      const box = plot.getBoundingClientRect(), pointer = plot.querySelector('.pointer');
      pointer.setAttribute('transform', 'translate(' + x.toFixed(1) + ' 0)');
      pointer.setAttribute('visibility', 'visible');
      say(describe(steps[index]), box.left + x / 1000 * box.width, top);
    }

    follow(plot, function (event) {
      const box = plot.getBoundingClientRect();
      const x = (event.clientX - box.left) / box.width * 1000;
      if (left > x || x > right)
        return hide();
      const row = (x - left) / (right - left) * steps[last][1];
      index = Math.max(0, Math.min(last, Math.floor(row / steps[0][1])));
      showAt(x, event.clientY);
    });
    wide.addEventListener('blur', hide);
    wide.addEventListener('keydown', function (event) {
      const by = event.shiftKey ? 20 : 1;
      const ways = {ArrowLeft: index - by, ArrowRight: index + by, Home: 0, End: last};
      if (event.key === 'Escape')
        return hide();
      if (!(event.key in ways))
        return;
      event.preventDefault();
      index = Math.max(0, Math.min(last, ways[event.key]));
      const row = (steps[index][0] - 1 + steps[index][1]) / 2;
      const x = left + row / steps[last][1] * (right - left);
      wide.scrollLeft = x / 1000 * plot.clientWidth - wide.clientWidth / 2;
      showAt(x, plot.getBoundingClientRect().top);
    });
  }

  // A flame graph: a click or Enter zooms, Escape shows all, arrows go from box to box.
  function burn(flame) {
    const boxes = Array.from(flame.querySelectorAll('b'));

    function tell(box, x, y) {
      const place = box.dataset.in ? '\nin ' + box.dataset.in : '';
      say(box.textContent + place + '\n' + bytes(Number(box.dataset.b)) + ', ' +
          (100 * box.w).toFixed(1) + ' %', x, y);
    }

    function zoom(box) {
      flame.style.setProperty('--zx', box.x);
      flame.style.setProperty('--zw', box.w);
    }

    function reach(box) {
      boxes.forEach(each => { each.tabIndex = each === box ? 0 : -1; });
      box.focus();
      const place = box.getBoundingClientRect();
      tell(box, place.left, place.bottom);
    }

    // From a box to its caller, to the widest that it calls, or along those of its depth.
    function next(box, key) {
      const row = box.y + (key === 'ArrowUp' ? -1 : key === 'ArrowDown' ? 1 : 0);
      const beside = boxes.filter(each => each.y === row);
      beside.sort((one, other) => one.x - other.x);
      const has = (outer, inner) => inner.x + inner.w / 2 >= outer.x
        ? outer.x + outer.w >= inner.x + inner.w / 2 : false;
      if (key === 'ArrowUp')
        return beside.find(each => has(each, box));
      if (key === 'ArrowDown')
        return beside.filter(each => has(box, each)).sort((one, other) => other.w - one.w)[0];
      return beside[beside.indexOf(box) + (key === 'ArrowLeft' ? -1 : 1)];
    }

    flame.setAttribute('role', 'tree');
    boxes.forEach(function (box, i) {
      for (const name of ['x', 'w', 'y'])
        box[name] = Number(box.style.getPropertyValue('--' + name));
      box.setAttribute('role', 'treeitem');
      box.setAttribute('aria-level', box.y + 1);
      box.tabIndex = i > 0 ? -1 : 0;
    });
    follow(flame, function (event) {
      const box = event.target.closest('b');
      if (box)
        tell(box, event.clientX, event.clientY);
    });
    flame.addEventListener('click', event => zoom(event.target.closest('b') || boxes[0]));
    flame.addEventListener('focusout', hide);
    flame.addEventListener('keydown', function (event) {
      const box = event.target.closest('b');
      if (['ArrowUp', 'ArrowDown', 'ArrowLeft', 'ArrowRight'].includes(event.key))
        reach(next(box, event.key) || box);
      else if (['Enter', ' ', 'Escape'].includes(event.key))
        zoom(event.key === 'Escape' ? boxes[0] : box);
      else
        return;
      event.preventDefault();
    });
  }

  if (plot) {
    chart();
    document.querySelectorAll('.flame').forEach(burn);
  }
}());
