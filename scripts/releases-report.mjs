/** What scripts/check-releases.mjs found out, in words. */
import { stripVTControlCharacters } from 'node:util';

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
 * @param rows name, pinned, tried, result and what went wrong
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

/** What `troupe doctor --json` has against the one engine it looked at. */
export function objectionsOf({ stdout, stderr, status }) {
  let engine;
  try {
    [engine] = JSON.parse(stdout).engines;
  } catch {
    const said = firstLine(stderr) || `it ended with ${status}, without JSON`;
    return [`troupe doctor: ${said}`];
  }
  const { says = 'no answer', gone } = engine?.tested ?? {};
  return gone?.length === 0 ? [] : [`troupe doctor: ${says}`];
}

/** What npm means, of all that it says. */
export function wordsOfNpm(stderr, status) {
  const meant = firstLine(stderr.replace(/^npm (warn.*|error code .*)$/gm, ''));
  return meant || `npm exited with ${status}`;
}

/** The first line that says something, without what steers a terminal. */
export function firstLine(text) {
  const lines = stripVTControlCharacters(text).split(/[\r\n]+/);
  const line = lines.find((one) => one.trim() !== '') ?? '';
  return line
    .replace(/\p{Cc}/gu, ' ')
    .trim()
    .slice(0, 300);
}
