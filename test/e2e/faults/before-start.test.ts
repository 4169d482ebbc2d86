import { execFileSync } from 'node:child_process';
import {
  closeSync,
  constants,
  existsSync,
  openSync,
  readdirSync,
  readFileSync,
  utimesSync
} from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { until } from '../../kit/judges/until.ts';
import { type McpClient, startServer } from '../../kit/servers/mcp-client.ts';
import {
  createGitWorkspace,
  type GitWorkspace,
  gitIn
} from '../../kit/workspaces/git-workspace.ts';

let workspace: GitWorkspace;
let server: McpClient;

/** A filter that waits to be fed holds git up while it looks at the files. */
beforeEach(async () => {
  workspace = createGitWorkspace();
  const held = join(workspace.home, 'held');
  execFileSync('mkfifo', [held]);
  const config = join(workspace.home, '.gitconfig');
  const filter = ['filter.slow.clean', `cat ${held}`];
  gitIn(workspace.path, 'config', '-f', config, ...filter);
  workspace.write('.gitattributes', '*.slow filter=slow\n');
  workspace.write('a.slow', 'x\n');
  server = await startServer(workspace);
});

afterEach(async () => {
  expect(server.impurities).toEqual([]);
  expect(server.stderr).toBe('');
  await server.close();
  release();
  workspace.remove();
});

/** Releases the process that still reads the pipe of a killed server. */
function release(): void {
  const { O_NONBLOCK, O_WRONLY } = constants;
  try {
    closeSync(openSync(join(workspace.home, 'held'), O_WRONLY | O_NONBLOCK));
  } catch {
    // No process reads it.
  }
}

const script = 'echo started >started.txt; echo ok';

async function spawn(prompt = script): Promise<string> {
  const { data } = await server.call('spawn_shell', { prompt });
  expect(data).toMatchObject({ status: 'running' });
  return String(data.agent_id);
}

async function resultOf(id: string): Promise<Record<string, unknown>> {
  await server.call('wait_for_agents', { agent_ids: [id], timeout: 60 });
  return (await server.call('result', { agent_id: id })).data;
}

function hasStarted(): boolean {
  return existsSync(join(workspace.path, 'started.txt'));
}

/** What a look leaves in the agent's folder: nothing. */
function leftIn(id: string): string[] {
  const names = readdirSync(join(workspace.record, 'spawns', id));
  return names.filter((name) => /^(before|looking|changes.*)$/.test(name));
}

test('the spawn is answered, and a cancel means that it never started', async () => {
  const id = await spawn();
  const { data } = await server.call('list');
  expect(data).toMatchObject({ running: [{ id }], queued: [] });
  await server.call('cancel_agent', { agent_id: id, reason: 'not needed' });
  const canceled = await server.call('result', { agent_id: id });
  expect(canceled.data).toMatchObject({
    status: 'canceled',
    error: 'Canceled before it started: not needed'
  });
  expect(canceled.data).not.toHaveProperty('files_changed');
  await until('nothing is left of the look', () => leftIn(id).length === 0);
  expect(hasStarted()).toBe(false);
});

test('list does not wait for git to see what an agent left', async () => {
  // Older than the index, so that the first look can believe it.
  utimesSync(join(workspace.path, 'a.slow'), 1, 1);
  workspace.commit('nothing to look at before');
  const { data } = await server.call('spawn_shell', {
    prompt: 'echo x >b.slow; echo ok'
  });
  const directory = join(workspace.record, 'spawns', `${data.agent_id}`);
  await until('its end', () =>
    /\d/.test(readFileSync(join(directory, 'exit'), 'utf8'))
  );
  await until('the second look', () =>
    readdirSync(directory).includes('looking')
  );
  const listed = await server.call('list');
  expect(listed.data).toMatchObject({
    running: [],
    completed_ids: [data.agent_id]
  });
  await until('its outcome', () => {
    release();
    return existsSync(join(directory, 'outcome.json'));
  });
  expect(await resultOf(String(data.agent_id))).toMatchObject({
    status: 'completed'
  });
});

test('a client that leaves does not cost the agent its start', async () => {
  const id = await spawn();
  await server.close();
  server = await startServer(workspace);
  expect(await resultOf(id)).toMatchObject({
    status: 'completed',
    files_changed_note:
      'The files were not compared: git did not finish within 1 s.'
  });
  expect(hasStarted()).toBe(true);
});

/** The next server has an agent that a killed one was preparing. */
async function inherited(prompt: string, flags: string[]): Promise<string> {
  const id = await spawn(prompt);
  await until('the look has begun', () =>
    existsSync(join(workspace.record, 'spawns', id, 'before/index'))
  );
  server.child.kill('SIGKILL');
  await server.exited;
  server = await startServer(workspace, { flags });
  return id;
}

test('the next server starts what a killed one was preparing', async () => {
  const id = await inherited(script, []);
  const { data } = await server.call('list');
  expect(data).toMatchObject({ running: [{ id }], completed_ids: [] });
  expect(await resultOf(id)).toMatchObject({
    status: 'completed',
    files_changed_note:
      'The files were not compared: git did not finish within 4 s.'
  });
  expect(hasStarted()).toBe(true);
});

test('what the next server has started ends with it only if it was to end with the first', async () => {
  const prompt = 'echo started >started.txt; sleep 2; echo ok';
  const id = await inherited(prompt, ['--on-disconnect', 'stop']);
  await until('its start', hasStarted);
  await server.close();
  server = await startServer(workspace);
  expect(await resultOf(id)).toMatchObject({ status: 'completed' });
});
