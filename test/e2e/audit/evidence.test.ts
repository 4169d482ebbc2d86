import {
  existsSync,
  readdirSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync
} from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { until } from '../../kit/judges/until.ts';
import { type McpClient, startServer } from '../../kit/servers/mcp-client.ts';
import {
  author,
  createGitWorkspace,
  type GitWorkspace
} from '../../kit/workspaces/git-workspace.ts';

let workspace: GitWorkspace;
let server: McpClient;

beforeEach(async () => {
  workspace = createGitWorkspace();
  server = await startServer(workspace);
});

afterEach(async () => {
  expect(server.impurities).toEqual([]);
  expect(server.stderr).toBe('');
  await server.close();
  workspace.remove();
});

async function spawn(prompt: string, more: Record<string, unknown> = {}) {
  const { data } = await server.call('spawn_shell', { prompt, ...more });
  return String(data.agent_id);
}

async function resultOf(id: string): Promise<Record<string, unknown>> {
  await server.call('wait_for_agents', { agent_ids: [id], timeout: 60 });
  const { data } = await server.call('result', { agent_id: id });
  expect(leftIn(id)).toEqual([]);
  return data;
}

/** What looking at the files may leave in the agent's folder: nothing. */
function leftIn(id: string): string[] {
  return readdirSync(join(workspace.record, 'spawns', id)).filter(
    (name) => name === 'before' || name === 'looking' || name.endsWith('.tmp')
  );
}

function folderOf(id: string): string {
  return join(workspace.record, 'spawns', id);
}

async function run(prompt: string) {
  return resultOf(await spawn(prompt));
}

describe('the result of an agent', () => {
  test('reports the files it changed, also as a patch', async () => {
    const id = await spawn(
      'echo hi >notes.txt; echo four >>readme.txt; printf "a\\0b" >bytes; echo done'
    );
    const result = await resultOf(id);
    expect(result).toMatchObject({
      status: 'completed',
      files_changed: [
        { path: 'bytes', added: null, removed: null },
        { path: 'notes.txt', added: 1, removed: 0 },
        { path: 'readme.txt', added: 1, removed: 0 }
      ],
      files_changed_total: 3,
      diff: join(folderOf(id), 'changes.diff')
    });
    expect(result).not.toHaveProperty('files_changed_note');
    workspace.git('stash', '--quiet', '--include-untracked');
    workspace.git('apply', String(result.diff));
    expect(readFileSync(join(workspace.path, 'notes.txt'), 'utf8')).toBe(
      'hi\n'
    );
  });

  test('is the same in wait_for_agents and from the next server', async () => {
    const id = await spawn('echo hi >notes.txt; echo done');
    const waited = await server.call('wait_for_agents', { agent_ids: [id] });
    const [told] = waited.data.results as unknown[];
    await server.close();
    server = await startServer(workspace);
    const { data } = await server.call('result', { agent_id: id });
    expect(data).toEqual(told);
    expect(data.files_changed_total).toBe(1);
  });

  test('reports none when nothing changed, without a patch', async () => {
    const id = await spawn('echo looked');
    const result = await resultOf(id);
    expect(result.files_changed).toEqual([]);
    expect(result).not.toHaveProperty('diff');
    expect(existsSync(join(folderOf(id), 'changes.diff'))).toBe(false);
  });

  test('leaves out what was not committed before, and counts commits', async () => {
    workspace.write('readme.txt', 'mine\n');
    workspace.write('draft.txt', 'mine\n');
    const result = await run(
      `echo its >its.txt; git add its.txt; git ${author} commit -qm its -- its.txt; echo ok`
    );
    expect(result.files_changed).toEqual([
      { path: 'its.txt', added: 1, removed: 0 }
    ]);
  });

  test('leaves out our own files where the directories are the project’s', async () => {
    workspace.write('.agents/skill.md', 'x\n');
    workspace.write('logs/app.log', 'x\n');
    workspace.commit('directories');
    const result = await run('echo x >>logs/app.log; echo ok');
    expect(result.files_changed).toEqual([
      { path: 'logs/app.log', added: 1, removed: 0 }
    ]);
  });

  test('names a hundred files at most, and how many there are', async () => {
    const result = await run(
      'i=0; while [ $i -lt 130 ]; do echo $i >file-$i.txt; i=$((i + 1)); done; echo ok'
    );
    expect(result.files_changed).toHaveLength(100);
    expect(result.files_changed_total).toBe(130);
  });

  test('says nothing of files where there is no repository', async () => {
    rmSync(join(workspace.path, '.git'), { recursive: true });
    const result = await run('echo hi >notes.txt; echo ok');
    expect(Object.keys(result)).not.toContain('files_changed');
    expect(Object.keys(result)).not.toContain('files_changed_note');
  });

  test('comes without files when git is not there, and says why', async () => {
    await server.close();
    for (const name of ['sh', 'ps', 'sleep', 'wc', 'cat'])
      workspace.program(name, spawnReal(name));
    server = await startServer(workspace, { env: { PATH: workspace.bin } });
    const result = await run('echo hi >notes.txt; echo ok');
    expect(result).toMatchObject({
      status: 'completed',
      files_changed_note: 'The files were not compared: git is not installed.'
    });
    expect(result).not.toHaveProperty('files_changed');
  });
});

/** Stands in for a program of the system that is not on the PATH any more. */
function spawnReal(name: string): string {
  return `process.exit(require('node:child_process').spawnSync('/bin/${name}', process.argv.slice(2), { stdio: 'inherit' }).status ?? 1)`;
}

describe('however it ends, an agent’s changes are seen', () => {
  test('when it is canceled', async () => {
    const id = await spawn('echo hi >notes.txt; sleep 60');
    await until('its file is there', () =>
      existsSync(join(workspace.path, 'notes.txt'))
    );
    await server.call('cancel_agent', { agent_id: id });
    const result = await resultOf(id);
    expect(result).toMatchObject({
      status: 'canceled',
      files_changed: [{ path: 'notes.txt', added: 1, removed: 0 }]
    });
  });

  test('when its time is up', async () => {
    const id = await spawn('echo hi >notes.txt; sleep 60', { timeout: 1 });
    expect(await resultOf(id)).toMatchObject({
      status: 'timeout',
      files_changed: [{ path: 'notes.txt', added: 1, removed: 0 }]
    });
  });

  test('when its server was killed, by the next one, which says how late', async () => {
    const gate = join(workspace.home, 'gate');
    const id = await spawn(
      `echo hi >notes.txt; until [ -e '${gate}' ]; do sleep 0.05; done; echo ok`
    );
    await until('it runs', () => existsSync(join(workspace.path, 'notes.txt')));
    server.child.kill('SIGKILL');
    await server.exited;
    writeFileSync(gate, '');
    const exit = join(folderOf(id), 'exit');
    await until('it has ended', () => /^\d/.test(readFileSync(exit, 'utf8')));
    const aMinuteAgo = new Date(Date.now() - 60_000);
    utimesSync(exit, aMinuteAgo, aMinuteAgo);
    server = await startServer(workspace);
    const result = await resultOf(id);
    expect(result.files_changed).toEqual([
      { path: 'notes.txt', added: 1, removed: 0 }
    ]);
    expect(result.files_changed_note).toMatch(
      /^The files were compared \d+ s after the end: /
    );
  });
});
