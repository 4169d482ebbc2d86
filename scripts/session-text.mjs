/** The final text of a recorded terminal, and the comparison of two texts. */

/** Removes the padding of the terminal. */
export function tidy(text) {
  const lines = text.split('\n').map((line) => line.trimEnd());
  return `${lines.join('\n').trim()}\n`;
}

/**
 * The differences of two recordings, except for ids, versions, times and the
 * progress of agents.
 *
 * @returns lines that begin with `- ` or `+ `
 */
export function differences(before, now) {
  const [old, fresh] = [before, now].map(normal);
  return [
    ...old.filter((line) => !fresh.includes(line)).map((line) => `- ${line}`),
    ...fresh.filter((line) => !old.includes(line)).map((line) => `+ ${line}`)
  ];
}

function normal(text) {
  return text
    .split('\n')
    .map((line) =>
      line
        .replace(/\b[0-9a-f]{8}\b/g, 'ID')
        .replace(/^(- \[x\] .*?) \| .*/, '$1')
        .replace(/\b\d+\.\d+\.\d+\b/g, 'VERSION')
        .replace(/\b\d+(\.\d+)? ?(s|ms)\b/g, 'TIME')
        .replace(/\b\d+ (running|lines)\b/g, 'N $1')
    )
    .filter((line) => !/ of \d+ ended|#ID \w+, TIME:/.test(line));
}
