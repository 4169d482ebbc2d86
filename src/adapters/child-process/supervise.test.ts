import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { isScript } from './supervise.ts';

let base: string;

beforeAll(() => {
  base = mkdtempSync(join(tmpdir(), 'troupe-script-'));
});

afterAll(() => rmSync(base, { recursive: true, force: true }));

test.each([
  ['#!/bin/sh\necho', true],
  ['#! /usr/bin/bash -eu\n', true],
  ['#!/usr/bin/env bash\n', true],
  ['#!/usr/bin/env -S A=b zsh -f\n', true],
  ['#!/usr/bin/env node\n', false],
  ['#!/usr/bin/python3\n', true],
  ['#!/usr/bin/env perl\n', true],
  ['#!/usr/bin/env -S bun run\n', false],
  ['echo', false],
  ['', false]
])('a program that begins with %j is a script: %s', (text, expected) => {
  const file = join(base, 'program');
  const link = join(base, 'link');
  writeFileSync(file, text);
  rmSync(link, { force: true });
  symlinkSync(file, link);
  expect(isScript(link)).toBe(expected);
});

test('an interpreter counts as a script by any name, and a missing file does not', () => {
  const link = join(base, 'my-shell');
  symlinkSync('/bin/sh', link);
  expect(isScript(link)).toBe(true);
  expect(isScript(process.execPath)).toBe(false);
  expect(isScript(join(base, 'none'))).toBe(false);
});
