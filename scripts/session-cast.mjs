/** Recordings as asciicast v2. */

/**
 * Chunks as events of text. One that ends within a line or a character waits
 * for the next, so that `change` sees whole lines.
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

/** What is typed is no whole line; paths come by lines. */
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
