import { existsSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  done,
  edit,
  editor,
  own,
  shared,
  write
} from '../../kit/agents/editor.ts';
import { until } from '../../kit/judges/until.ts';
import { runCommand } from '../../kit/servers/command-line.ts';
import { type McpClient, startServer } from '../../kit/servers/mcp-client.ts';
import {
  answerOf,
  createdWorker,
  workerIs
} from '../../kit/servers/orchestrator-calls.ts';
import {
  createGitWorkspace,
  type GitWorkspace
} from '../../kit/workspaces/git-workspace.ts';

let workspace: GitWorkspace;
let one: McpClient;
let two: McpClient;

beforeEach(async () => {
  workspace = createGitWorkspace();
  workspace.write('editor.mjs', editor);
  const config = { plugins: ['./shell.mjs', './editor.mjs'] };
  workspace.write('.trouperc.json', JSON.stringify(config));
  workspace.commit('editor');
  [one, two] = await Promise.all([
    startServer(workspace),
    startServer(workspace)
  ]);
});

afterEach(async () => {
  for (const server of [one, two]) {
    expect(server.impurities).toEqual([]);
    expect(server.stderr).toBe('');
    await server.close();
  }
  workspace.remove();
});

/** Waits until a file is in HOME. */
function awaits(name: string): string {
  return `until [ -e '${join(workspace.home, name)}' ]; do sleep 0.05; done`;
}

async function spawn(
  server: McpClient,
  engine: string,
  parts: string[],
  more: Record<string, unknown> = {}
): Promise<string> {
  const prompt = parts.join('; ');
  const { data } = await server.call(`spawn_${engine}`, { prompt, ...more });
  return String(data.agent_id);
}

async function resultOf(agent_id: string) {
  const agent_ids = [agent_id];
  const waited = await two.call('wait_for_agents', { agent_ids, timeout: 60 });
  expect(waited.data.status).toBe('all_completed');
  const [result] = waited.data.results as Record<string, unknown>[];
  expect(result?.status).toBe('completed');
  return result ?? {};
}

function isThere(name: string): Promise<true | undefined> {
  const path = join(workspace.path, name);
  return until(`${name} is there`, () => existsSync(path) || undefined);
}

function allow(name: string): void {
  workspace.write(`../home/${name}`, '');
}

describe('of agents whose engines say nothing of their edits', () => {
  test('every change is shared that another may have made', async () => {
    const before = await spawn(one, 'shell', [write('before.txt'), 'echo ok']);
    expect((await resultOf(before)).files_changed).toEqual([own('before.txt')]);
    const long = await spawn(one, 'shell', [
      write('a.txt'),
      awaits('end'),
      'echo ok'
    ]);
    await isThere('a.txt');
    const short = await spawn(two, 'shell', [write('b.txt'), 'echo ok']);
    const result = await resultOf(short);
    expect(result.files_changed).toEqual([shared('b.txt')]);
    expect(result.files_changed_note).toBe(
      `Others that worked in the same files meanwhile: ${long}. What they may have changed is marked as shared.`
    );
    allow('end');
    const both = [shared('a.txt'), shared('b.txt')];
    expect((await resultOf(long)).files_changed).toEqual(both);
    const after = await spawn(one, 'shell', [write('c.txt'), 'echo ok']);
    expect((await resultOf(after)).files_changed).toEqual([own('c.txt')]);
  });

  test('one that is only asked to read may have changed files', async () => {
    const parts = [write('a.txt'), awaits('end'), 'echo ok'];
    const reader = await spawn(one, 'shell', parts, { access: 'read' });
    await isThere('a.txt');
    const { data } = await two.call('spawn_shell', {
      prompt: `${write('b.txt')}; echo ok`
    });
    expect(data.message).toContain(
      `Agent ${reader} (Shell) may be writing to the same files`
    );
    const writer = await resultOf(String(data.agent_id));
    expect(writer.files_changed).toEqual([shared('b.txt')]);
    allow('end');
    const both = [shared('a.txt'), shared('b.txt')];
    expect((await resultOf(reader)).files_changed).toEqual(both);
  });

  test('so are the changes of an agent that was started in the worktree of another', async () => {
    const host = await spawn(
      one,
      'shell',
      [write('a.txt'), awaits('end'), 'echo ok'],
      { isolate: 'worktree' }
    );
    const worktree = join('.agents', 'worktrees', host);
    await isThere(join(worktree, 'a.txt'));
    const guest = [write('b.txt'), 'echo ok'];
    await resultOf(await spawn(two, 'shell', guest, { cwd: worktree }));
    allow('end');
    const both = [shared('a.txt'), shared('b.txt')];
    expect((await resultOf(host)).files_changed).toEqual(both);
  });

  test('the log, the page and the command line say so', async () => {
    const long = await spawn(one, 'shell', [
      write('a.txt'),
      awaits('end'),
      'echo ok'
    ]);
    await isThere('a.txt');
    await resultOf(await spawn(two, 'shell', [write('b.txt'), 'echo ok']));
    allow('end');
    await resultOf(long);
    const { directory, agents } = workspace.paths.views;
    const iac = join(directory, 'IAC.md');
    const line = '- `a.txt` +1 −0 (shared)';
    await until('the log has it', () => {
      const log = existsSync(iac) ? readFileSync(iac, 'utf8') : '';
      const isThere = log.includes('Changes (2 files)') && log.includes(line);
      return isThere || undefined;
    });
    const log = readFileSync(iac, 'utf8');
    const link = `\\[${long}\\]\\(agents/${long}\\.md\\)`;
    expect(log).toMatch(
      new RegExp(
        `^\\| [-\\d: ]{19} \\| ${link} \\| troupe-test \\| Shell \\| .* \\| done [\\d.]+s \\| unknown \\| 2 \\(\\+2 −0, shared\\) \\|$`,
        'm'
      )
    );
    expect(log).toMatch(
      new RegExp(
        `^- \\[x\\] .*#${long}.* \\| from: troupe-test \\| files: 2 \\(\\+2 −0, shared\\) \\| \\[Page\\]`,
        'm'
      )
    );
    const page = readFileSync(join(agents, `${long}.md`), 'utf8');
    expect(page).toContain(line);
    const { stdout } = await runCommand(workspace, ['result', long, '--json']);
    expect(JSON.parse(stdout).files_changed).toContainEqual(shared('a.txt'));
    const watched = await runCommand(workspace, ['watch']);
    expect(watched.stdout).toMatch(new RegExp(`${long}.* \\+2 -0 shared `));
  });
});

describe('of agents whose engines say what they edit', () => {
  test('each has its own changes, and none that only another has', async () => {
    const parts = [edit('a.txt'), awaits('end'), done];
    const first = await spawn(one, 'editor', parts);
    await isThere('a.txt');
    const second = await spawn(two, 'editor', [
      edit(join(workspace.path, 'b.txt')),
      edit('./c.txt'),
      awaits('end'),
      done
    ]);
    await isThere('c.txt');
    const third = await spawn(one, 'shell', [write('d.txt'), 'echo ok']);
    const others = ['a.txt', 'b.txt', 'c.txt', 'd.txt'];
    await resultOf(third);
    allow('end');
    const [one_, two_] = [await resultOf(first), await resultOf(second)];
    expect(one_.files_changed).toEqual([own('a.txt')]);
    expect(one_.files_changed_total).toBe(1);
    expect(one_.files_changed_note).toContain(
      ' Not listed, but in the diff: 3 files that this one cannot have changed.'
    );
    const patch = readFileSync(String(one_.diff), 'utf8');
    for (const name of others) expect(patch).toContain(`+++ b/${name}`);
    expect(two_.files_changed).toEqual([own('b.txt'), own('c.txt')]);
  });

  test('a file that both edit is shared', async () => {
    const parts = [edit('a.txt'), edit('b.txt'), awaits('end'), done];
    const first = await spawn(one, 'editor', parts);
    await isThere('b.txt');
    const second = await spawn(two, 'editor', [
      `echo y >>b.txt; echo '{"edit":"b.txt"}'`,
      done
    ]);
    expect((await resultOf(second)).files_changed).toEqual([shared('b.txt')]);
    allow('end');
    expect((await resultOf(first)).files_changed).toEqual([
      own('a.txt'),
      { path: 'b.txt', added: 2, removed: 0, shared: true }
    ]);
  });

  test('what a person changes meanwhile is not listed', async () => {
    const parts = [edit('a.txt'), awaits('end'), done];
    const agent = await spawn(one, 'editor', parts);
    await isThere('a.txt');
    workspace.write('person.txt', 'x\n');
    allow('end');
    const result = await resultOf(agent);
    expect(result.files_changed).toEqual([own('a.txt')]);
    expect(result.files_changed_note).toBe(
      'Not listed, but in the diff: 1 file that this one cannot have changed.'
    );
  });

  test('an edit through a link is one of its file', async () => {
    symlinkSync('readme.txt', join(workspace.path, 'link.txt'));
    workspace.commit('link');
    const agent = await spawn(one, 'editor', [
      `echo x >>link.txt; echo '{"edit":"link.txt"}'`,
      done
    ]);
    expect((await resultOf(agent)).files_changed).toEqual([own('readme.txt')]);
  });

  test('of one that is ended, every change may be its own', async () => {
    const parts = [edit('a.txt'), write('b.txt'), awaits('end'), done];
    const agent_id = await spawn(one, 'editor', parts);
    await isThere('b.txt');
    await one.call('cancel_agent', { agent_id });
    const { data } = await one.call('wait_for_agents', {
      agent_ids: [agent_id]
    });
    expect(data.results).toMatchObject([
      { status: 'canceled', files_changed: [own('a.txt'), own('b.txt')] }
    ]);
  });

  test('one that also ran a shell may have changed the same files', async () => {
    const shell = `echo '{"shell":true}'`;
    const parts = [edit('a.txt'), shell, awaits('end'), done];
    const first = await spawn(one, 'editor', parts);
    await isThere('a.txt');
    const second = await spawn(two, 'editor', [edit('b.txt'), done]);
    expect((await resultOf(second)).files_changed).toEqual([own('b.txt')]);
    allow('end');
    expect((await resultOf(first)).files_changed).toEqual([
      own('a.txt'),
      shared('b.txt')
    ]);
  });

  test('one that is held to reading has not changed what a person changes', async () => {
    const access = { access: 'read' };
    const parts = [write('../home/began'), awaits('end'), done];
    const reader = await spawn(one, 'editor', parts, access);
    await isThere('../home/began');
    workspace.write('person.txt', 'x\n');
    allow('end');
    const result = await resultOf(reader);
    expect(result.files_changed).toEqual([]);
    expect(result.files_changed_note).toBe(
      'Not listed: 1 file that this one cannot have changed.'
    );
  });

  test('one that is held to reading has changed nothing', async () => {
    const access = { access: 'read' };
    const parts = [write('../home/began'), awaits('end'), done];
    const reader = await spawn(one, 'editor', parts, access);
    await isThere('../home/began');
    const writer = await spawn(two, 'shell', [write('b.txt'), 'echo ok']);
    await resultOf(writer);
    allow('end');
    const result = await resultOf(reader);
    expect(result.files_changed).toEqual([]);
    expect(result).not.toHaveProperty('diff');
    expect(result.files_changed_note).toContain(
      ' Not listed: 1 file that this one cannot have changed.'
    );
  });
});

test('a worker that may write shares the files, until it is over', async () => {
  await one.close();
  const config = {
    plugins: ['./shell.mjs'],
    engines: { rehearsal: true },
    orchestrator: { backend: 'process' }
  };
  workspace.write('.trouperc.json', JSON.stringify(config));
  const flags = ['--toolsets', 'orchestrator,spawn,runs'];
  one = await startServer(workspace, { flags });
  const engine = 'rehearsal';
  await createdWorker(one, { engine, access: 'read' });
  const first = await spawn(one, 'shell', [write('a.txt'), 'echo ok']);
  expect((await resultOf(first)).files_changed).toEqual([own('a.txt')]);
  const worker = await createdWorker(one, { engine, access: 'write' });
  const { agent_id } = worker;
  const second = await spawn(one, 'shell', [write('b.txt'), 'echo ok']);
  const result = await resultOf(second);
  expect(result.files_changed).toEqual([shared('b.txt')]);
  expect(result.files_changed_note).toContain(agent_id);
  await answerOf(one, 'agent_delete', { agent_id });
  await workerIs(one, agent_id, 'stopped');
  const third = await spawn(one, 'shell', [write('c.txt'), 'echo ok']);
  expect((await resultOf(third)).files_changed).toEqual([own('c.txt')]);
});

test('an agent in another part of the repository shares its files', async () => {
  for (const name of ['x', 'y']) workspace.write(`${name}/a.txt`, 'a\n');
  workspace.commit('parts');
  const parts = [write('b.txt'), awaits('end'), 'echo ok'];
  const first = await spawn(one, 'shell', parts, { cwd: 'x' });
  await isThere('x/b.txt');
  const second = await spawn(two, 'shell', [write('b.txt'), 'echo ok'], {
    cwd: 'y'
  });
  expect((await resultOf(second)).files_changed).toEqual([shared('y/b.txt')]);
  allow('end');
  await resultOf(first);
});
