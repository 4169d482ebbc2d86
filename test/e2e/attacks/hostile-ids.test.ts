import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { runCommand } from '../../kit/servers/command-line.ts';
import { type McpClient, startServer } from '../../kit/servers/mcp-client.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../kit/workspaces/temp-workspace.ts';
import { printOf, treeOf } from '../../kit/workspaces/tree.ts';

/** The content of each file outside of the workspace: it must never be shown. */
const secret = 'told-to-nobody';

/** Ways out of a directory, and names that some system gives a meaning. */
const names: [what: string, name: string][] = [
  ['a step up', '../planted'],
  ['steps up', '../../../planted'],
  ['steps up into the home', '../../../home/planted'],
  ['steps after a good beginning', '00000000/../../../../planted'],
  ['steps up, for Windows', '..\\..\\..\\planted'],
  ['steps up, encoded', '%2e%2e%2f%2e%2e%2fplanted'],
  ['steps up, encoded twice', '%252e%252e%252fplanted'],
  ['dots that look like others', '．．／．．／planted'],
  ['the directory itself', '.'],
  ['the one above', '..'],
  ['a dot at the end', 'planted.'],
  ['a space at the end', 'planted '],
  ['a drive', 'C:\\planted'],
  ['a device', 'CON'],
  ['a device with an ending', 'nul.txt'],
  ['a stream', 'planted::$DATA'],
  ['a NUL', 'planted\0.json'],
  ['a line break', 'planted\n../planted'],
  ['a flag', '--help'],
  ['a home', '~/planted'],
  ['a variable', '$HOME/planted'],
  ['an address', 'file:///etc/passwd'],
  ['more than a name may have', 'x'.repeat(5000)]
];

type Inputs = [tool: string, args: (name: string) => Record<string, unknown>][];

/** Each input that names something we look for in a directory. */
const inputs: Inputs = [
  ['spawn_rehearsal', (cwd) => ({ prompt: 'say x', cwd })],
  ['continue_agent', (agent_id) => ({ agent_id, prompt: 'say x' })],
  ['result', (agent_id) => ({ agent_id })],
  ['cancel_agent', (agent_id) => ({ agent_id })],
  ['wait_for_agents', (id) => ({ agent_ids: [id], timeout: 1 })],
  ['wait_for_agents', (squadId) => ({ squadId, timeout: 1 })],
  [
    'second_opinion',
    (path) => ({
      question: 'x?',
      engines: ['rehearsal'],
      context_files: [path]
    })
  ],
  ['second_opinion', (engine) => ({ question: 'x?', engines: [engine] })],
  [
    'start_squad_members',
    (roleId) => ({ members: [{ roleId, task: 'say x' }] })
  ],
  [
    'start_squad_members',
    (cwd) => ({ members: [{ roleId: 'debugger', task: 'say x', cwd }] })
  ],
  ['summon_agent', (engine) => ({ engine })],
  ['agent_create', (engine) => ({ name: 'a', role: 'b', engine })],
  ['agent_create', (cwd) => ({ name: 'a', role: 'b', cwd })],
  ['agent_get', (agent_id) => ({ agent_id })],
  ['agent_delete', (agent_id) => ({ agent_id })],
  ['task_enqueue', (agent_id) => ({ agent_id, task: { payload: 'x' } })],
  ['task_cancel', (agent_id) => ({ agent_id, task_id: 'x' })],
  ['events_read', (agent_id) => ({ agent_id })]
];

const resources = [
  (name: string) => `agent://${name}/outbox`,
  (name: string) => `agent://${name}/meta`,
  (name: string) => `run://${name}/broadcast`
];

let workspace: TempWorkspace;
let outside: string[];
let server: McpClient;

beforeAll(async () => {
  workspace = createTempWorkspace();
  workspace.write(
    'troupe.config.json',
    JSON.stringify({
      toolsets: ['spawn', 'runs', 'squad', 'council', 'orchestrator'],
      engines: { rehearsal: {} },
      squad: { engine: 'rehearsal' },
      council: { scope: 'project' },
      orchestrator: { backend: 'process', engine: 'rehearsal' }
    })
  );
  const base = dirname(workspace.path);
  const records = dirname(workspace.record);
  mkdirSync(records, { recursive: true });
  for (const place of [base, workspace.home, dirname(records), records])
    plant(join(place, 'planted'));
  outside = printOutside();
  server = await startServer(workspace);
  await server.call('start_council', { agent_name: 'a', request: 'b' });
});

afterEach(() => {
  expect(strangeNames()).toEqual([]);
  expect(printOutside()).toEqual(outside);
});

afterAll(async () => {
  await server.close();
  workspace.remove();
  expect(server.impurities).toEqual([]);
});

/** What an agent, a worker and a council would be kept in. */
function plant(directory: string): void {
  mkdirSync(directory);
  const facts = JSON.stringify({ v: 1, agent_id: 'planted', text: secret });
  for (const name of ['record', 'outcome', 'meta', 'state'])
    writeFileSync(join(directory, `${name}.json`), facts);
  for (const name of ['result.txt', 'outbox.jsonl', 'broadcast.jsonl'])
    writeFileSync(join(directory, name), `${facts}\n`);
  writeFileSync(`${directory}.md`, `${secret}\n`);
}

/** Forbidden files lie next to the workspace and its record. */
function printOutside(): string[] {
  const base = dirname(workspace.path);
  const record = relative(base, workspace.record);
  const ours = ['workspace', record].flatMap((path) => [
    `${path} `,
    `${path}/`
  ]);
  // The directory of all records changes when this one is made.
  ours.push(`${dirname(record)} `);
  return printOf(base).filter(
    (line) => !ours.some((beginning) => line.startsWith(beginning))
  );
}

/** Names of ours, of which none may come from a caller. */
function strangeNames(): string[] {
  return [workspace.path, workspace.record]
    .flatMap((root) => treeOf(root))
    .map(({ path }) => path)
    .filter((path) => /planted|CON|nul\.txt|%2|\\|．|x{99}/.test(path));
}

describe.each(names)('%s in place of a name', (_what, name) => {
  test('is refused by every tool and resource, and leads nowhere', async () => {
    for (const [tool, argsOf] of inputs) {
      const args = argsOf(name);
      // That is the workspace itself.
      if (JSON.stringify(args).includes('"cwd":"."')) continue;
      const { isError, data, text } = await server.call(tool, args);
      expect(text, tool).not.toContain(secret);
      // An unknown name is an answer there, not an error.
      const isTold = /not_found|no_agents|unknown/.test(text);
      expect(isError || isTold, `${tool}: ${text.slice(0, 300)}`).toBe(true);
      if (isError) expect(data.error_code, tool).not.toBe('internal');
    }
    for (const uriOf of resources) {
      const asked = server.request('resources/read', { uri: uriOf(name) });
      await expect(asked).rejects.toThrow(/^-32(002|602): /);
    }
  });
});

test('a command ends with 1, and leads nowhere', async () => {
  const given = names
    .map(([, name]) => name)
    .filter((name) => /planted/.test(name) && !name.includes('\0'))
    .slice(0, 5);
  for (const name of given)
    await Promise.all(
      ['result', 'wait', 'cancel', 'roles'].map(async (command) => {
        const ran = await runCommand(workspace, [command, '--', name]);
        const told = `${command} ${name}: ${ran.stdout}${ran.stderr}`;
        expect(ran.code, told).toBe(1);
        expect(told).not.toContain(secret);
      })
    );
});

test('the server of a worker by such a name does not begin', async () => {
  for (const id of ['../../../planted', '..', 'planted.']) {
    const flags = ['--toolsets', 'worker', '--agent-id', id];
    const refused = await startServer(workspace, { flags, raw: true });
    expect(await refused.exited).toMatchObject({ code: 1 });
    expect(refused.stderr).not.toContain(secret);
  }
});
