import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { versions } from '../scripts/engine-versions.mjs';
import { builtinEngines } from './index.ts';

const programs = builtinEngines.flatMap((engine) =>
  engine.kind === 'cli' ? [engine] : []
);

test('the newest verified version is the tested one', () => {
  const tested = Object.entries(versions).map(([name, { version }]) => [
    name,
    version
  ]);
  const told = programs.flatMap(({ name, probe }) =>
    probe && 'verified' in probe ? [[name, probe.verified.newest]] : []
  );
  expect(told.sort()).toEqual(tested.sort());
});

test('the install command of a program names the tested package', () => {
  for (const [name, one] of Object.entries(versions)) {
    const engine = programs.find((program) => program.name === name);
    expect(engine).toHaveProperty('install', `npm install -g ${one.package}`);
  }
});

const pageOf = (name: string) =>
  readFileSync(new URL(`../docs/${name}`, import.meta.url), 'utf8');

const [before = '', rest = ''] = pageOf('reference/engines.md').split(
  '<!-- verified:begin -->'
);
const [table = '', after = ''] = rest.split('<!-- verified:end -->');

test.each(Object.entries(versions))(
  'the table of verified versions has the tested version of %s',
  (name, { version }) => {
    const rows = table.split('\n').filter((row) => row.includes(`\`${name}\``));
    expect(rows).toEqual([
      expect.stringMatching(`^\\| \`${name}\` \\| ${literal(version)} \\| `)
    ]);
  }
);

test('the oldest verified version of each program is listed below the table', () => {
  for (const { name, probe } of programs)
    if (probe && 'verified' in probe)
      expect(after).toMatch(
        new RegExp(`\`${name}\` ${literal(probe.verified.oldest)}\\b`)
      );
});

test('no page names the newest version anywhere else', () => {
  const pages = [before, after, pageOf('start/clients.md')].join('\n');
  for (const { name, probe } of programs) {
    if (!probe || !('verified' in probe)) continue;
    const { oldest, newest } = probe.verified;
    if (oldest !== newest) expect(pages, name).not.toContain(newest);
  }
});

function literal(version: string): string {
  return version.replaceAll('.', '\\.');
}
