/** The report of scripts/check-releases.mjs. */
import { stripVTControlCharacters } from 'node:util';

/** One line for each failed test of a JSON report of vitest. */
export function failuresIn({ testResults }) {
  return testResults.flatMap(({ name, message, assertionResults }) => {
    const failed = assertionResults
      .filter(({ status }) => status === 'failed')
      .map(
        ({ fullName, failureMessages: [failure = ''] }) =>
          `${fullName}: ${firstLine(failure)}`
      );
    if (failed.length > 0 || !message) return failed;
    return [`${name.split('/').at(-1)}: ${firstLine(message)}`];
  });
}

/** The number of passed tests in a JSON report of vitest. */
export function passedIn({ testResults }) {
  return testResults
    .flatMap(({ assertionResults }) => assertionResults)
    .filter(({ status }) => status === 'passed').length;
}

/**
 * @param rows each with name, pinned, tried, result and failures
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

/** The objections of `troupe doctor --json` to the one engine it checked. */
export function objectionsOf({ stdout, stderr, status }) {
  let engine;
  try {
    [engine] = JSON.parse(stdout).engines;
  } catch {
    const problem =
      firstLine(stderr) || `it ended with ${status}, without JSON`;
    return [`troupe doctor: ${problem}`];
  }
  const { says = 'no answer', gone } = engine?.tested ?? {};
  return gone?.length === 0 ? [] : [`troupe doctor: ${says}`];
}

/** The relevant line of npm's errors. */
export function wordsOfNpm(stderr, status) {
  const meant = firstLine(stderr.replace(/^npm (warn.*|error code .*)$/gm, ''));
  return meant || `npm exited with ${status}`;
}

/** The first line that is not blank, without terminal control sequences. */
export function firstLine(text) {
  const lines = stripVTControlCharacters(text).split(/[\r\n]+/);
  const line = lines.find((one) => one.trim() !== '') ?? '';
  return line
    .replace(/\p{Cc}/gu, ' ')
    .trim()
    .slice(0, 300);
}
