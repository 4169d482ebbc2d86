/** Recordings as asciicast v2. */

/**
 * Converts chunks to events of text. A part of a line or of a character is
 * kept for the next chunk, so that `change` gets whole lines.
 */
export function eventsIn(chunks, change) {
  const events = [];
  let rest = Buffer.alloc(0);
  for (const [index, { at, bytes }] of chunks.entries()) {
    const all = Buffer.concat([rest, bytes]);
    const isLast = index === chunks.length - 1;
    const end = isLast ? all.length : wholeIn(all);
    rest = all.subarray(end);
    if (end > 0)
      events.push({ at, text: change(all.subarray(0, end).toString('utf8')) });
  }
  return events;
}

/**
 * How many bytes to pass on: all of a short, typed text, else the whole lines.
 * Paths, which `change` replaces, are not in typed text.
 */
function wholeIn(bytes) {
  const isTyped = /^[\x00-\x2e\x30-\x7f]{1,40}$/.test(bytes.toString('latin1'));
  return isTyped ? bytes.length : bytes.lastIndexOf(10) + 1;
}

export function castOf(events, { columns, rows }, title) {
  const head = { version: 2, width: columns, height: rows, title };
  const start = events[0]?.at ?? 0;
  const lines = events.map(({ at, text }) =>
    JSON.stringify([Number((at - start).toFixed(3)), 'o', text])
  );
  return `${[JSON.stringify(head), ...lines].join('\n')}\n`;
}
