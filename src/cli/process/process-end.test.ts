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

/** Catches signals, and reads the file that it is given over and over. */
const source = `
import { readFile } from 'node:fs/promises';
import { catchInterruption } from ${JSON.stringify(join(import.meta.dirname, 'process-end.ts'))};
const { beforeEnd } = catchInterruption();
beforeEnd(() => process.stdout.write('last\\n'));
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

/** How the program ends after two signals, and what it prints. */
async function afterTwo(signal: NodeJS.Signals, file: string) {
  const child = spawn(process.execPath, [program, file], {
    stdio: ['ignore', 'pipe', 'inherit']
  });
  let text = '';
  child.stdout.on('data', (chunk) => {
    text += String(chunk);
  });
  await once(child.stdout, 'data');
  const closed = once(child, 'close');
  child.kill(signal);
  // Two signals at once would count as one.
  setTimeout(() => child.kill(signal), 50);
  const [code, by] = await closed;
  return { code, by, text };
}

test.each([
  ['SIGINT', 130],
  ['SIGTERM', 143]
] as const)(
  'a second %s ends a process that reads files with code %i',
  async (signal, code) => {
    expect(await afterTwo(signal, program)).toEqual({
      ...{ code, by: null },
      text: 'ready\nlast\n'
    });
  }
);

test('a second signal ends a process although a file does not answer', async () => {
  const { by, text } = await afterTwo('SIGINT', fifo);
  expect({ by, text }).toEqual({ by: 'SIGKILL', text: 'ready\nlast\n' });
});
