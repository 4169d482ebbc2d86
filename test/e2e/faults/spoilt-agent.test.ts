import { execFileSync } from 'node:child_process';
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { runCommand } from '../../kit/servers/command-line.ts';
import { type McpClient, startServer } from '../../kit/servers/mcp-client.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../kit/workspaces/temp-workspace.ts';

let workspace: TempWorkspace;
let server: McpClient;
let sound: string;
let spoilt: string;

beforeEach(async () => {
  workspace = createTempWorkspace();
  workspace.write('troupe.config.json', '{"engines": {"rehearsal": true}}');
  server = await startServer(workspace);
  const spawned = await Promise.all(
    ['sound', 'spoilt'].map((word) =>
      server.call('spawn_rehearsal', { prompt: `say ${word}` })
    )
  );
  const agent_ids = spawned.map(({ data }) => String(data.agent_id));
  [sound = '', spoilt = ''] = agent_ids;
  const { data } = await server.call('wait_for_agents', { agent_ids });
  expect(data.status).toBe('all_completed');
  workspace.writeRecord(join('spawns', spoilt, 'outcome.json'), '');
});

afterEach(async () => {
  await server.close();
  workspace.remove();
});

test('a wait that includes a damaged agent returns the answers of the rest', async () => {
  const { data, isError, text } = await server.call('wait_for_agents', {
    agent_ids: [spoilt, sound]
  });
  expect(isError, text).toBe(false);
  expect(data.status).toBe('all_completed');
  const [first, second] = data.results as Record<string, unknown>[];
  expect(first).toMatchObject({ agent_id: sound, status: 'completed' });
  expect(second).toMatchObject({
    agent_id: spoilt,
    error_code: 'state_invalid',
    error: expect.stringContaining(`${spoilt}/outcome.json`)
  });
  expect(second).not.toHaveProperty('status');
});

test('a wait without names shows the other ended agents', async () => {
  const { data, isError, text } = await server.call('wait_for_agents', {});
  expect(isError, text).toBe(false);
  expect(data).toMatchObject({
    status: 'no_agents_running',
    recent_results: [{ agent_id: sound, status: 'completed' }]
  });
});

test('a wait for a damaged agent alone reports what is wrong', async () => {
  const agent_ids = [spoilt];
  const { data, isError } = await server.call('wait_for_agents', { agent_ids });
  expect(isError).toBe(true);
  expect(data.error_code).toBe('state_invalid');
});

test.each([[[]], [['--json']]])(
  'the command line lists and awaits the rest, and names the damaged one: %s',
  async (flags) => {
    const listed = await runCommand(workspace, ['list', ...flags]);
    expect(listed.code, listed.stderr).toBe(0);
    expect(listed.stdout).toContain(sound);
    expect(listed.stdout).not.toContain(spoilt);
    expect(listed.stderr).toContain(`${spoilt}/outcome.json`);
    const waited = await runCommand(workspace, [
      ...['wait', sound, spoilt],
      ...flags
    ]);
    expect(waited.code, waited.stderr).toBe(1);
    expect(waited.stdout).toContain(sound);
    expect(waited.stderr).toContain(`${spoilt}/outcome.json`);
  }
);

const replacements: Record<string, (path: string) => void> = {
  directory: (path) => mkdirSync(path),
  FIFO: (path) => execFileSync('mkfifo', [path])
};

function replace(name: string, kind: string): string {
  const path = join(workspace.record, 'spawns', sound, name);
  rmSync(path, { force: true });
  replacements[kind]?.(path);
  return path;
}

test.each([
  ['directory', 'record.json'],
  ['FIFO', 'record.json'],
  ['directory', 'outcome.json'],
  ['FIFO', 'outcome.json']
])('a %s in place of %s is named', async (kind, name) => {
  const path = replace(name, kind);
  // A new server remembers no file as it was.
  const other = await startServer(workspace);
  const { isError, data } = await other.call('result', { agent_id: sound });
  expect(isError).toBe(true);
  expect(data.error_code).toBe('state_invalid');
  expect(data.error).toContain(path);
  const listed = await other.call('list');
  expect(listed.isError, listed.text).toBe(false);
  await other.close();
  expect(other.stderr).not.toContain('    at ');
  const printed = await runCommand(workspace, ['result', sound]);
  expect(printed.code).toBe(1);
  expect(printed.stderr).toContain(path);
  expect(printed.stderr).not.toContain('    at ');
});

test.each(['directory', 'FIFO'])(
  'a %s in place of changes.json is a note in the result',
  async (kind) => {
    replace('changes.json', kind);
    const other = await startServer(workspace);
    const { isError, data, text } = await other.call('result', {
      agent_id: sound
    });
    expect(isError, text).toBe(false);
    expect(data).toMatchObject({
      status: 'completed',
      files_changed_note: 'The record of its changes cannot be read.'
    });
    await other.close();
  }
);
