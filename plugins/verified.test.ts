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

test('docs/engines.md names both ends of what is verified', () => {
  const page = new URL('../docs/engines.md', import.meta.url);
  const [, section] = readFileSync(page, 'utf8').split('## What is verified');
  for (const { name, probe } of programs) {
    if (!probe || !('verified' in probe)) continue;
    for (const version of Object.values(probe.verified))
      expect(section).toMatch(
        new RegExp(`\`${name}\`[ |]+${version.replaceAll('.', '\\.')}\\b`)
      );
  }
});
