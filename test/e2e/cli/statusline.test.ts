import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { idOf, makeUp } from '../../kit/agents/made-up-agents.ts';
import { packageRoot } from '../../kit/judges/documents.ts';
import { testTraced } from '../../kit/judges/system-calls.ts';
import { until } from '../../kit/judges/until.ts';
import {
  type CommandOptions,
  type RunningCommand,
  runCommand,
  startCommand
} from '../../kit/servers/command-line.ts';
import { startServer, testEnvironment } from '../../kit/servers/mcp-client.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../kit/workspaces/temp-workspace.ts';

const troupe = join(packageRoot, 'dist', 'troupe.cjs');

let workspace: TempWorkspace;

beforeEach(() => {
  workspace = createTempWorkspace();
  configure({ engines: { rehearsal: true } });
});

afterEach(() => workspace.remove());

function configure(settings: object): void {
  workspace.write('troupe.config.json', JSON.stringify(settings));
}

/** What Claude Code writes to the command of a status line. */
function inputOf(current_dir: string, project_dir = current_dir): string {
  return JSON.stringify({
    ...{ session_id: 's', transcript_path: '/x', version: '2.1.329' },
    ...{ cwd: current_dir, workspace: { current_dir, project_dir } },
    model: { id: 'claude-sonnet', display_name: 'Sonnet' },
    cost: { total_cost_usd: 1.5, total_duration_ms: 45_000 }
  });
}

/** The line; the command exits with 0 and reports nothing, whatever it reads. */
async function lineFor(
  stdin = inputOf(workspace.path),
  options: CommandOptions = {}
): Promise<string> {
  const args = ['statusline'];
  const result = await runCommand(workspace, args, { ...options, stdin });
  expect(result).toMatchObject({ code: 0, stderr: '' });
  return result.stdout;
}

async function started(script: string): Promise<RunningCommand> {
  const command = startCommand(workspace, ['run', 'rehearsal', script]);
  await command.says('stderr', /\) ([0-9a-f]{8}), access/);
  return command;
}

test('the line counts agents at work and unread results', async () => {
  expect(await lineFor()).toBe('');
  const one = await started('hang');
  expect(await lineFor()).toBe('1 agent\n');
  const two = await started('hang');
  expect(await lineFor()).toBe('2 agents\n');
  const server = await startServer(workspace);
  const { data } = await server.call('spawn_rehearsal', { prompt: 'say hi' });
  const id = String(data.agent_id);
  await until('its end', async () =>
    /^2 agents, 1 unread\n$/.test(await lineFor())
  );
  await server.call('result', { agent_id: id });
  expect(await lineFor()).toBe('2 agents\n');
  await server.close();
  for (const { child } of [one, two]) child.kill('SIGINT');
  await Promise.all([one.exited, two.exited]);
  // Ctrl-C leaves two results that nobody has read.
  expect(await lineFor()).toBe('2 unread\n');
});

test('the known cost of the last 24 hours is in the line', async () => {
  workspace.program('paid', 'console.log(JSON.stringify({ costUsd: 0.125 }))');
  workspace.write(
    'paid.mjs',
    `export default {
      kind: 'cli', name: 'paid', description: 'For tests.', command: 'paid',
      args: () => [],
      read: (reply, event) => ({ ...reply, ...event, text: 'x', finished: true })
    };`
  );
  configure({ engines: { rehearsal: true }, plugins: ['./paid.mjs'] });
  const { code } = await runCommand(workspace, ['run', 'paid', 'x', '--trust']);
  expect(code).toBe(0);
  expect(await lineFor()).toBe('');
  const one = await started('hang');
  expect(await lineFor()).toBe('1 agent, $0.13\n');
  one.child.kill('SIGINT');
  await one.exited;
});

test('an agent whose processes are gone is not at work', async () => {
  const one = await started('hang');
  const [, id = ''] = /\) ([0-9a-f]{8}), access/.exec(one.stderr) ?? [];
  const folder = join(workspace.record, 'spawns', id);
  const [supervisor = ''] = (
    await until('its claim', () => claimIn(folder))
  ).split(' ');
  one.child.kill('SIGKILL');
  await one.exited;
  expect(await lineFor()).toBe('1 agent\n');
  process.kill(-Number(supervisor), 'SIGKILL');
  await until('its end', async () => (await lineFor()) === '1 unread\n');
  await runCommand(workspace, ['list']);
  expect(await lineFor()).toBe('1 unread\n');
});

test('the project directory goes before the current one', async () => {
  const one = await started('hang');
  const below = join(workspace.path, 'src');
  mkdirSync(below);
  expect(await lineFor(inputOf(below, workspace.path))).toBe('1 agent\n');
  expect(await lineFor(inputOf(below))).toBe('');
  expect(await lineFor(inputOf(workspace.path, below))).toBe('1 agent\n');
  const cwd = JSON.stringify({ cwd: workspace.path });
  expect(await lineFor(cwd, { cwd: below })).toBe('1 agent\n');
  expect(await lineFor('', { cwd: workspace.path })).toBe('1 agent\n');
  one.child.kill('SIGINT');
  await one.exited;
});

testTraced('it opens few files, however many agents have ended', async () => {
  const one = await started('hang');
  for (let number = 1; number <= 50; number += 1)
    makeUp(workspace.record, {
      ...{ agent_id: idOf(number), daysAgo: 0, read: true }
    });
  const trace = join(workspace.home, 'trace');
  const options = ['-f', '-qq', '-e', 'trace=openat,execve', '-o', trace];
  const { status, stdout } = spawnSync(
    'strace',
    [...options, process.execPath, troupe, 'statusline'],
    {
      input: inputOf(workspace.path),
      encoding: 'utf8',
      env: testEnvironment(workspace)
    }
  );
  expect({ status, stdout }).toEqual({ status: 0, stdout: '1 agent\n' });
  const calls = readFileSync(trace, 'utf8').split('\n');
  expect(calls.filter((call) => call.includes('execve('))).toHaveLength(1);
  const opened = calls.flatMap(
    (call) => /openat\(\w+, "([^"]+)".*= \d+$/.exec(call)?.[1] ?? []
  );
  const below = (directory: string) =>
    opened.filter((path) => path.startsWith(`${directory}/`));
  expect(below(workspace.path)).toEqual([]);
  expect(
    below(packageRoot).map((path) =>
      basename(path).replace(/-.*\.bin$/, ' as compiled')
    )
  ).toEqual(['troupe.cjs', 'statusline as compiled', 'statusline.cjs']);
  expect(below(workspace.record).length).toBeLessThanOrEqual(8);
  one.child.kill('SIGINT');
  await one.exited;
});

test.each([
  'no JSON',
  'null',
  '[]',
  '{"workspace":3,"cwd":{}}',
  '{"cwd":"/does/not/exist"}',
  '{"cwd":"a\\u0000b"}'
])('for the input %s there is no line and no error', async (stdin) => {
  expect(await lineFor(stdin)).toBe('');
});

test('nothing of the workspace is run, and nothing is written', async () => {
  const mark = join(workspace.home, 'ran');
  const code = `require('node:fs').writeFileSync(${JSON.stringify(mark)}, '')`;
  workspace.write('troupe.config.cjs', `${code};`);
  workspace.write('plugin.cjs', `${code};`);
  configure({ plugins: ['./plugin.cjs'], engines: 'not valid' });
  writeFileSync(join(workspace.path, '.env'), 'TROUPE_HOME=.');
  const before = readdirSync(workspace.path).sort();
  expect(await lineFor()).toBe('');
  expect(readdirSync(workspace.path).sort()).toEqual(before);
  expect(readdirSync(workspace.home)).not.toContain('ran');
  expect(readdirSync(workspace.home)).not.toContain('.troupe');
  const inside = join(workspace.path, 'record');
  const env = { TROUPE_HOME: inside };
  expect(await lineFor(inputOf(workspace.path), { env })).toBe('');
  expect(readdirSync(workspace.path).sort()).toEqual(before);
});

function claimIn(folder: string): string | undefined {
  if (!readdirSync(folder).includes('claim')) return undefined;
  const text = readFileSync(join(folder, 'claim'), 'utf8');
  return text.split('\n').length > 2 ? text : undefined;
}
