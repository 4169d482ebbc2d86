import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { runCommand } from '../../kit/servers/command-line.ts';
import { type McpClient, startServer } from '../../kit/servers/mcp-client.ts';
import { untrusted } from '../../kit/workspaces/cloned-workspace.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../kit/workspaces/temp-workspace.ts';

/** An engine whose agent runs its prompt as a script of the shell. */
const shell = `export default {
  kind: 'cli', name: 'shell', description: 'For tests.', command: '/bin/sh',
  args: ({ prompt }) => ['-c', prompt]
};
`;
const file = 'troupe.config.json';
const stillUses = /still uses the configuration of \d\d:\d\d/;

let workspace: TempWorkspace;
let server: McpClient;

beforeEach(() => {
  workspace = createTempWorkspace();
  workspace.write('shell.mjs', shell);
});

afterEach(async () => {
  await server.close();
  workspace.remove();
});

async function start(
  name: string | undefined,
  config: object,
  options: Parameters<typeof startServer>[1] = {}
): Promise<void> {
  if (name) configure(config, name);
  server = await startServer(workspace, options);
}

function configure(more: object, name = file): void {
  const config = { plugins: ['./shell.mjs'], ...more };
  const text = JSON.stringify(config);
  workspace.write(
    name,
    name === 'package.json' ? `{"name": "x", "troupe": ${text}}` : text
  );
}

async function spawn(prompt = 'exit 0', engine = 'shell') {
  const { data } = await server.call(`spawn_${engine}`, { prompt });
  return { message: String(data.message), id: String(data.agent_id) };
}

async function resultOf(prompt: string): Promise<unknown> {
  const { id: agent_id } = await spawn(prompt);
  await server.call('wait_for_agents', { agent_ids: [agent_id] });
  return (await server.call('result', { agent_id })).data.result;
}

async function faults(): Promise<string> {
  return JSON.stringify((await server.call('list')).data.faults ?? []);
}

const settings = (WORD: string) => ({ engines: { shell: { env: { WORD } } } });

test.each(['troupe.config.json', '.trouperc', 'package.json'])(
  'a change of %s counts at the next spawn',
  async (name) => {
    await start(name, settings('one'));
    expect(await resultOf('echo $WORD')).toBe('one');
    configure({ ...settings('two'), maxAccess: 'read' }, name);
    expect((await spawn()).message).toMatch(/ with access read /);
    expect(await resultOf('echo $WORD')).toBe('two');
    expect(await faults()).toBe('[]');
  }
);

test('a named file outside the workspace counts at the next spawn, without trust', async () => {
  const name = '../home/mine.json';
  const plugins = [join(workspace.path, 'shell.mjs')];
  configure({ ...settings('one'), plugins, maxAccess: 'read' }, name);
  const flags = ['--config', join(workspace.path, name)];
  await start(undefined, {}, { flags, env: untrusted });
  expect(await resultOf('echo $WORD')).toBe('one');
  configure({ ...settings('two'), plugins, maxAccess: 'write' }, name);
  expect((await spawn()).message).toMatch(/ with access write /);
  expect(await resultOf('echo $WORD')).toBe('two');
  rmSync(join(workspace.path, name));
  const { message } = await spawn();
  expect(message).toMatch(stillUses);
  expect(message).toMatch(/mine\.json.*ENOENT/);
});

test('a file counts that was not there before, or comes before the one that was', async () => {
  await start(file, settings('one'));
  configure(settings('two'), '.trouperc.json');
  expect(await resultOf('echo $WORD')).toBe('two');
  rmSync(join(workspace.path, '.trouperc.json'));
  expect(await resultOf('echo $WORD')).toBe('one');
});

test('limits count at the next spawn', async () => {
  await start(file, {});
  await spawn('sleep 60');
  configure({ maxConcurrent: 1 });
  expect((await spawn('sleep 60')).message).toContain('is queued');
  configure({ maxConcurrent: 2, maxSpawnsPerMinute: 2 });
  const { isError, text } = await server.call('spawn_shell', { prompt: 'x' });
  expect({ isError, text }).toMatchObject({
    isError: true,
    text: expect.stringMatching(/spawn_rate.*no more than 2/s)
  });
  const { data } = await server.call('list');
  for (const { id } of [data.running, data.queued].flat().filter(hasId))
    await server.call('cancel_agent', { agent_id: id });
});

const hasId = (row: unknown): row is { id: string } =>
  typeof row === 'object' && row !== null && 'id' in row;

test('an engine that is switched off takes no further agent', async () => {
  await start(file, {});
  await spawn();
  configure({ engines: { shell: { enabled: false } } });
  const { isError, text } = await server.call('spawn_shell', { prompt: 'x' });
  expect({ isError, text }).toMatchObject({
    isError: true,
    text: expect.stringContaining('unknown_engine')
  });
  configure({});
  expect(await resultOf('echo on')).toBe('on');
});

test('the variables of a new configuration are redacted', async () => {
  await start(file, {});
  const MY_TOKEN = 'a-token-of-the-new-configuration';
  configure({ engines: { shell: { env: { MY_TOKEN } } } });
  await resultOf('echo $MY_TOKEN');
  await server.close();
  const { stdout } = await runCommand(workspace, ['log', '--json']);
  expect(stdout).toContain('[redacted]');
  expect(stdout).not.toContain(MY_TOKEN);
});

test.each([
  ['{"maxAccess": "rea"}', /maxAccess in .*troupe\.config\.json: Invalid/],
  ['{"maxAccess": "read"', /troupe\.config\.json cannot be read: /],
  ['{"squad": {"engine": "nope"}}', /names "nope", and there is no such engine/]
])(
  'with %s spawns go on with the old configuration, and answers say so',
  async (text, fault) => {
    await start(file, settings('one'));
    workspace.write(file, text);
    const { message } = await spawn();
    expect(message).toMatch(stillUses);
    expect(message).toMatch(fault);
    expect(await faults()).toMatch(stillUses);
    expect(await resultOf('echo $WORD')).toBe('one');
    configure(settings('two'));
    expect((await spawn()).message).not.toMatch(stillUses);
    expect(await resultOf('echo $WORD')).toBe('two');
    expect(await faults()).toBe('[]');
  }
);

test('what counts after a restart only is named', async () => {
  await start(file, settings('one'));
  configure({
    engines: { shell: { env: { WORD: 'two' } }, rehearsal: true },
    plugins: ['./shell.mjs', './other.mjs'],
    toolsets: ['spawn', 'runs'],
    http: { sessions: 3 },
    squad: { stateMode: 'stateful' }
  });
  const { message } = await spawn();
  expect(message).toMatch(stillUses);
  expect(message).toContain(
    'for toolsets, plugins, http, squad.stateMode, engines.rehearsal; restart it for them'
  );
  expect(await faults()).toMatch(stillUses);
  expect(await resultOf('echo $WORD')).toBe('two');
});

test('each tool that starts agents says what does not count', async () => {
  const toolsets = ['spawn', 'runs', 'squad', 'council', 'orchestrator'];
  const all = {
    toolsets,
    engines: { rehearsal: {} },
    squad: { engine: 'rehearsal' },
    orchestrator: { backend: 'process' }
  };
  await start(file, all);
  configure({ ...all, http: { sessions: 3 } });
  await server.call('start_council', { request: 'Why?', agent_name: 'me' });
  const engine = 'rehearsal';
  const members = [{ roleId: 'architect', task: 'Look' }];
  for (const [tool, args] of [
    ['spawn_rehearsal', { prompt: 'hello' }],
    ['second_opinion', { question: 'Why?', engines: [engine] }],
    ['start_squad_members', { members, background: true }],
    ['summon_agent', { engine }],
    ['agent_create', { name: 'one', role: 'Work', engine }]
  ] as const) {
    const { data, text } = await server.call(tool, args);
    expect({ tool, said: String(data.message ?? text) }).toEqual({
      tool,
      said: expect.stringMatching(stillUses)
    });
  }
});

test('code is not read again, and the answer says so', async () => {
  const name = 'troupe.config.mjs';
  const code = (level: string) =>
    workspace.write(
      name,
      `export default { plugins: ['./shell.mjs'], maxAccess: '${level}' };`
    );
  code('write');
  await start(undefined, {});
  expect((await spawn()).message).toMatch(/ with access write /);
  code('read');
  const { message } = await spawn();
  expect(message).toMatch(stillUses);
  expect(message).toMatch(
    /troupe\.config\.mjs is code: a change counts after a restart/
  );
});

describe('in a workspace that the user has trusted as it was', () => {
  beforeEach(async () => {
    configure({ ...settings('one'), maxAccess: 'read' });
    await trust();
    await start(undefined, {}, { env: untrusted });
    expect(await resultOf('echo $WORD')).toBe('one');
  });

  const trust = () =>
    runCommand(workspace, ['trust', '--yes'], { env: untrusted });

  test('a change that needs trust is left out and named until it is trusted', async () => {
    configure({ ...settings('two'), maxAccess: 'read' });
    const { message } = await spawn();
    expect(message).toContain('changed since you trusted it');
    expect(message).toContain('engines.shell.env');
    expect(await faults()).toContain('engines.shell.env');
    expect(await resultOf('echo x$WORD')).toBe('x');
    await trust();
    expect(await resultOf('echo $WORD')).toBe('two');
    expect(await faults()).toBe('[]');
    expect((await spawn()).message).not.toContain('trusted');
  });

  test('a change that narrows counts at once, and one that widens does not', async () => {
    configure({ maxAccess: 'read', maxConcurrent: 2 });
    await spawn();
    rmSync(join(workspace.path, file));
    const { message } = await spawn();
    expect(message).toMatch(/ with access read /);
    expect(message).toMatch(stillUses);
    expect(message).toMatch(/maxConcurrent, .*maxAccess/);
    expect(await faults()).toMatch(/maxConcurrent, .*maxAccess/);
  });
});
