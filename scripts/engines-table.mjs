/**
 * Writes the results of the tests against the real CLIs to the table of
 * docs/reference/engines.md.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { versions } from './engine-versions.mjs';

const page = join(import.meta.dirname, '..', 'docs', 'reference', 'engines.md');
const begin = '<!-- verified:begin -->';
const end = '<!-- verified:end -->';

/**
 * @param resultsFile the JSON report of vitest
 * @param runsFile how the agents ended, one JSON object a line
 */
export function writeTable(resultsFile, runsFile) {
  const text = readFileSync(page, 'utf8');
  const [before, rest] = text.split(begin);
  const [, after] = rest?.split(end) ?? [];
  if (after === undefined)
    throw new Error(`docs/reference/engines.md lacks ${begin} or ${end}.`);
  const { testResults, startTime } = JSON.parse(
    readFileSync(resultsFile, 'utf8')
  );
  const runs = readFileSync(runsFile, 'utf8')
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line));
  const table = tableOf(testResults, runs, new Date(startTime));
  writeFileSync(page, `${before}${begin}\n${table}\n${end}${after}`);
}

/**
 * @returns a markdown table, one row an engine
 * @throws when an engine has no test that passed
 */
export function tableOf(testResults, runs, date) {
  const rows = Object.entries(versions).map(([engine, { version }]) => {
    const groups = groupsOf(engine, testResults);
    if (groups.length === 0) throw new Error(`No test of ${engine} passed.`);
    return [
      `\`${engine}\``,
      version,
      date.toISOString().slice(0, 10),
      verified(groups),
      exits(runs.filter((run) => run.engine === engine))
    ];
  });
  const head = ['Engine', 'Version', 'Date', 'Tests passed', 'Exit codes'];
  return [head, head.map(() => '---'), ...rows]
    .map((cells) => `| ${cells.join(' | ')} |`)
    .join('\n');
}

/** The group of each passed test of an engine. */
function groupsOf(engine, testResults) {
  return testResults.flatMap(({ name, assertionResults }) => {
    const file = basename(name, '.test.ts');
    const passed = assertionResults.filter((one) => one.status === 'passed');
    return passed.flatMap(({ ancestorTitles: [group = ''] }) => {
      if (file === engine) return [group];
      if (file === `worker-${engine}`) return ['as a worker'];
      const words = group.split(/[^a-z-]+/);
      const isClient = file.startsWith('as-clients') && words.includes(engine);
      return isClient ? ['as a client'] : [];
    });
  });
}

function verified(groups) {
  const counts = new Map();
  for (const group of groups) counts.set(group, (counts.get(group) ?? 0) + 1);
  const parts = [...counts].map(([group, count]) => `${group} ${count}`);
  return `${groups.length}: ${parts.join(', ')}`;
}

/** Each status with the exit codes that were seen with it. */
function exits(runs) {
  const codes = new Map();
  for (const { status, exit_code: code } of runs) {
    const known = codes.get(status) ?? new Set();
    codes.set(status, known.add(code ?? 'none'));
  }
  return [...codes]
    .map(([status, seen]) => {
      const sorted = [...seen].map(String).sort(byNumber).join(', ');
      return `\`${status}\` ${sorted}`;
    })
    .sort()
    .join('; ');
}

function byNumber(one, other) {
  return one.localeCompare(other, 'en', { numeric: true });
}
