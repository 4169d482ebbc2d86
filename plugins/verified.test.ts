import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { versions } from '../scripts/engine-versions.mjs';
import * as builtin from './builtin.ts';

const programs = Object.values(builtin).flatMap((engine) =>
  engine.kind === 'cli' ? [engine] : []
);

test('the newest version that is verified is the one that is tested', () => {
  const tested = Object.entries(versions).map(([name, { version }]) => [
    name,
    version
  ]);
  const told = programs.flatMap(({ name, probe }) =>
    probe && 'verified' in probe ? [[name, probe.verified.newest]] : []
  );
  expect(told.sort()).toEqual(tested.sort());
});

test('what installs a program installs the package that is tested', () => {
  for (const [name, one] of Object.entries(versions)) {
    const engine = programs.find((program) => program.name === name);
    expect(engine).toHaveProperty('install', `npm install -g ${one.package}`);
  }
});

const pageOf = (name: string) =>
  readFileSync(new URL(`../docs/${name}`, import.meta.url), 'utf8');

const [before = '', rest = ''] = pageOf('engines.md').split(
  '<!-- verified:begin -->'
);
const [table = '', after = ''] = rest.split('<!-- verified:end -->');

test.each(Object.entries(versions))(
  'the table of what is verified has the version of %s that is tested',
  (name, { version }) => {
    const rows = table.split('\n').filter((row) => row.includes(`\`${name}\``));
    expect(rows).toEqual([
      expect.stringMatching(`^\\| \`${name}\` \\| ${literal(version)} \\| `)
    ]);
  }
);

test('below it stands the oldest version of each that is verified', () => {
  for (const { name, probe } of programs)
    if (probe && 'verified' in probe)
      expect(after).toMatch(
        new RegExp(`\`${name}\` ${literal(probe.verified.oldest)}\\b`)
      );
});

test('no page names the newest version anywhere else', () => {
  const pages = [before, after, pageOf('clients.md')].join('\n');
  for (const { name, probe } of programs) {
    if (!probe || !('verified' in probe)) continue;
    const { oldest, newest } = probe.verified;
    if (oldest !== newest) expect(pages, name).not.toContain(newest);
  }
});

function literal(version: string): string {
  return version.replaceAll('.', '\\.');
}
