/** What scripts/check-releases.mjs found out, in words. */

/** Lines that tell which tests of a JSON report of vitest failed, and how. */
export function failuresIn({ testResults }) {
  return testResults.flatMap(({ name, message, assertionResults }) => {
    const failed = assertionResults
      .filter(({ status }) => status === 'failed')
      .map(
        ({ fullName, failureMessages: [said = ''] }) =>
          `${fullName}: ${firstLine(said)}`
      );
    if (failed.length > 0 || !message) return failed;
    return [`${name.split('/').at(-1)}: ${firstLine(message)}`];
  });
}

/** How many tests of it passed. */
export function passedIn({ testResults }) {
  return testResults
    .flatMap(({ assertionResults }) => assertionResults)
    .filter(({ status }) => status === 'passed').length;
}

/**
 * @param rows name, pinned, tried (or null), result and what went wrong
 * @returns a table, with the failures below their row
 */
export function reportOf(rows) {
  const head = { name: 'NAME', pinned: 'PINNED', tried: 'TRIED' };
  const all = [{ ...head, result: 'RESULT', failures: [] }, ...rows];
  const widths = ['name', 'pinned', 'tried'].map((key) => [
    key,
    Math.max(...all.map((row) => row[key].length))
  ]);
  return all
    .flatMap((row) => [
      [...widths.map(([key, width]) => row[key].padEnd(width)), row.result]
        .join('  ')
        .trimEnd(),
      ...row.failures.map((line) => `  ${line}`)
    ])
    .join('\n');
}

/** Numbers as numbers: 0.10 is newer than 0.9. */
export function isNewer(version, than) {
  return version.localeCompare(than, 'en', { numeric: true }) > 0;
}

/** What npm means, of all that it says. */
export function wordsOfNpm(stderr) {
  return firstLine(stderr.replace(/^npm (warn.*|error code .*)$/gm, ''));
}

export function firstLine(text) {
  const lines = text.replace(/\u001b\[[\d;]*m/g, '').split('\n');
  return (lines.find((line) => line.trim() !== '') ?? '').trim().slice(0, 300);
}
