import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { rolldown } from 'rolldown';
import { beforeAll, expect, test } from 'vitest';

const directory = mkdtempSync(join(tmpdir(), 'process-end-'));
const program = join(directory, 'program.mjs');
const fifo = join(directory, 'fifo');

/**
 * Catches signals and prints their names, and reads the file that it is given
 * over and over.
 */
const source = `
import { readFile } from 'node:fs/promises';
import { catchInterruption } from ${JSON.stringify(join(import.meta.dirname, 'process-end.ts'))};
const { beforeEnd } = catchInterruption();
beforeEnd(() => process.stdout.write('last\\n'));
for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'])
  process.on(name, () => process.stdout.write(name + '\\n'));
setInterval(() => undefined, 1000);
const read = async () => { for (;;) await readFile(process.argv[2]); };
for (let n = 0; n < 4; n += 1) void read();
process.stdout.write('ready\\n');
`;

beforeAll(async () => {
  const entry = join(directory, 'entry.ts');
  writeFileSync(entry, source);
  const build = await rolldown({ input: entry, platform: 'node' });
  await build.write({ file: program, codeSplitting: false });
  await build.close();
  spawnSync('mkfifo', [fifo]);
});

/** How the program ends after these signals, and what it prints. */
async function after(signals: NodeJS.Signals[], file: string) {
  const child = spawn(process.execPath, [program, file], {
    stdio: ['ignore', 'pipe', 'inherit']
  });
  let text = '';
  child.stdout.on('data', (chunk) => {
    text += String(chunk);
  });
  const closed = once(child, 'close');
  // Two signals at once would count as one.
  for (const signal of signals) {
    await once(child.stdout, 'data');
    child.kill(signal);
  }
  const [code, by] = await closed;
  return { code, by, text };
}

test.each([
  ['SIGINT', 130],
  ['SIGTERM', 143]
] as const)(
  'a second %s ends a process that reads files with code %i',
  async (signal, code) => {
    expect(await after([signal, signal], program)).toEqual({
      ...{ code, by: null },
      text: `ready\n${signal}\nlast\n${signal}\n`
    });
  }
);

test('a second signal ends a process although a file does not answer', async () => {
  const { by, text } = await after(['SIGINT', 'SIGINT'], fifo);
  expect({ by, text }).toEqual({
    by: 'SIGKILL',
    text: 'ready\nSIGINT\nlast\nSIGINT\n'
  });
});

test('a process whose terminal was closed ends by SIGHUP, and not at a second SIGHUP', async () => {
  const ended = await after(['SIGHUP', 'SIGHUP', 'SIGTERM'], program);
  expect(ended).toEqual({
    ...{ code: null, by: 'SIGHUP' },
    text: 'ready\nSIGHUP\nSIGHUP\nlast\nSIGTERM\n'
  });
});
