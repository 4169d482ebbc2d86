import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeEach, expect } from 'vitest';
import {
  type GoldenTerminal,
  goldenTerminal
} from '../../golden/golden-terminal.ts';
import { until } from '../../kit/judges/until.ts';
import { runCommand } from '../../kit/servers/command-line.ts';
import { testEnvironment } from '../../kit/servers/mcp-client.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../kit/workspaces/temp-workspace.ts';
import { testTmux } from '../../kit/workspaces/tmux-stage.ts';

const troupe = join(import.meta.dirname, '../../../dist/troupe.cjs');

/** Outlives its terminal, and writes down how the program in it ended. */
const witness = `
const { spawn } = require('node:child_process');
const { renameSync, writeFileSync } = require('node:fs');
const [path, command, ...args] = process.argv.slice(2);
process.on('SIGHUP', () => undefined);
for (const stream of [process.stdout, process.stderr])
  stream.on('error', () => undefined);
spawn(command, args, { stdio: 'inherit' }).on('exit', (code, signal) => {
  writeFileSync(path + '.new', JSON.stringify({ code, signal }));
  renameSync(path + '.new', path);
});
`;

let terminal: GoldenTerminal | undefined;
let workspace: TempWorkspace;

beforeEach(() => {
  workspace = createTempWorkspace();
  workspace.write('.trouperc.json', '{"engines":{"rehearsal":true}}');
});

afterEach(() => workspace.remove());
afterAll(() => terminal?.close());

/** Runs a command in a terminal that is closed once it shows something. */
async function hungUp(args: string[], shows: string): Promise<unknown> {
  terminal ??= goldenTerminal();
  const end = join(workspace.home, 'end.json');
  const witnessed = workspace.program('witness', witness);
  const screen = await terminal.start(
    {
      words: [witnessed, end, process.execPath, troupe, ...args],
      cwd: workspace.path,
      env: testEnvironment(workspace)
    },
    { columns: 100, rows: 24 }
  );
  await until(
    shows,
    async () => (await screen.shown()).includes(shows) || undefined,
    40_000
  );
  await screen.close();
  await until('its end', () => existsSync(end) || undefined, 20_000);
  return JSON.parse(readFileSync(end, 'utf8'));
}

testTmux(
  'run ends by SIGHUP with its terminal, and its agent with it',
  async () => {
    const args = ['run', 'rehearsal', 'sleep 60'];
    const ended = await hungUp(args, 'sleep 60');
    expect(ended).toEqual({ code: null, signal: 'SIGHUP' });
    const { stdout } = await runCommand(workspace, ['log', '--json']);
    expect(stdout).toContain('"canceled"');
  }
);

testTmux('watch ends by SIGHUP with its terminal', async () => {
  await runCommand(workspace, ['run', 'rehearsal', 'say hello']);
  const ended = await hungUp(['watch'], 'q quit');
  expect(ended).toEqual({ code: null, signal: 'SIGHUP' });
});

testTmux('log --follow ends by SIGHUP with its terminal', async () => {
  await runCommand(workspace, ['run', 'rehearsal', 'say hello']);
  const ended = await hungUp(['log', '--follow'], 'completed');
  expect(ended).toEqual({ code: null, signal: 'SIGHUP' });
});
