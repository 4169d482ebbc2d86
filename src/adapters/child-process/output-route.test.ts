import {
  chmodSync,
  mkdtempSync,
  rmSync,
  symlinkSync,
  writeFileSync
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { needing } from '../../../test/kit/workspaces/needs.ts';
import { locate } from './locate.ts';
import { outputRoute } from './output-route.ts';

let base: string;

beforeAll(() => {
  base = mkdtempSync(join(tmpdir(), 'troupe-script-'));
});

afterAll(() => rmSync(base, { recursive: true, force: true }));

test.each([
  ['#!/bin/sh\necho', 'pipe'],
  ['#! /usr/bin/bash -eu\n', 'pipe'],
  ['#!/usr/bin/env bash\n', 'pipe'],
  ['#!/usr/bin/env -S A=b zsh -f\n', 'pipe'],
  ['#!/usr/bin/env node\n', 'file'],
  ['#!/usr/bin/python3\n', 'pipe'],
  ['#!/usr/bin/env perl\n', 'pipe'],
  ['#!/usr/bin/env -S bun run\n', 'file'],
  ['echo', 'file'],
  ['', 'file']
])('a program that begins with %j writes to a %s', (text, expected) => {
  const link = join(base, 'link');
  rmSync(link, { force: true });
  symlinkSync(script(text), link);
  for (const isPlain of [true, false])
    expect(routeOf(link, [], isPlain)).toBe(expected);
});

test('an interpreter writes to a pipe by any name, Node and a missing program to a file', () => {
  const link = join(base, 'my-shell');
  symlinkSync('/bin/sh', link);
  expect(routeOf(link)).toBe('pipe');
  expect(routeOf(process.execPath)).toBe('file');
  expect(routeOf(join(base, 'none'))).toBe('file');
});

describe('a wrapper counts as the program that it runs:', () => {
  const cases: [string, string[], string][] = [
    ['env', ['sh', '-s'], 'pipe'],
    ['env', ['-u', 'X', 'A=b c', 'sh', '-s'], 'pipe'],
    ['env', ['-S', 'A=b sh -s'], 'pipe'],
    ['env', ['-Ssh -s'], 'pipe'],
    ['nice', ['-n', '10', 'timeout', '-k', '5', '60', 'sh'], 'pipe'],
    ['nohup', ['sh', '-s'], 'pipe'],
    ['setsid', ['-w', 'sh'], 'pipe'],
    ['stdbuf', ['-oL', 'sh', '-s'], 'pipe'],
    ['xargs', ['-0', 'sh', '-c'], 'pipe'],
    ['env', [process.execPath, '-'], 'file'],
    ['env', ['cat'], 'file'],
    ['env', ['no-such-program', 'x'], 'file'],
    ['env', [], 'file'],
    ['cat', ['sh'], 'file']
  ];
  for (const [name, args, expected] of cases)
    needing(name, locate(name) !== undefined)(
      `${[name, ...args].join(' ')} (${expected})`,
      () => expect(routeOf(locate(name) ?? '', args)).toBe(expected)
    );
});

describe('a script that may hand over to Node', () => {
  const texts = [
    '#!/bin/sh\nexec "$home/agent" --print\n',
    '#!/bin/sh\n[ -x a ] && exec a\n',
    '#!/bin/sh\nagent "$@"\n',
    '#!/bin/sh\nagent ${@:2}\n',
    '#!/bin/sh\nnpx agent\n'
  ];

  test.each(texts)('writes events to a file: %j', (text) => {
    expect(routeOf(script(text), [], false)).toBe('file');
    expect(routeOf('/bin/sh', [script(text)], false)).toBe('file');
    expect(routeOf('/bin/sh', ['-c', text], false)).toBe('file');
  });

  test.each(texts)('writes plain text to a pipe: %j', (text) => {
    expect(routeOf(script(text))).toBe('pipe');
  });

  test('is none that only redirects its output', () => {
    const text = '#!/bin/sh\nexec 3>&1\nexec >log\nexec <&-\n';
    expect(routeOf(script(text), [], false)).toBe('pipe');
  });
});

test('a script that gives no answer on stdout gets a file', () => {
  expect(outputRoute({ command: '/bin/sh', args: [] })).toBe('file');
});

function routeOf(command: string, args: string[] = [], isPlain = true) {
  return outputRoute({ command, args, isPlain, path: process.env.PATH });
}

function script(text: string): string {
  const file = join(mkdtempSync(join(base, 'bin-')), 'program');
  writeFileSync(file, text);
  chmodSync(file, 0o755);
  return file;
}
