import {
  existsSync,
  readdirSync,
  renameSync,
  rmSync,
  writeFileSync
} from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { readIfExists } from '../../../src/core/state/files/atomic-file.ts';
import { until } from '../../kit/judges/until.ts';
import { type McpClient, startServer } from '../../kit/servers/mcp-client.ts';
import {
  createGitWorkspace,
  type GitWorkspace
} from '../../kit/workspaces/git-workspace.ts';

let workspace: GitWorkspace;
let server: McpClient;
let gate: string;

beforeEach(async () => {
  workspace = createGitWorkspace();
  workspace.git('branch', 'other');
  gate = join(workspace.home, 'gate');
  server = await startServer(workspace);
});

afterEach(async () => {
  writeFileSync(gate, '');
  expect(await server.close()).toEqual({ code: 0, signal: null });
  expect(server.stderr).toBe('');
  workspace.remove();
});

/** An agent at work until the gate opens, and a wait for it. */
async function started(more: Record<string, unknown> = {}, act = ':') {
  const up = join(workspace.home, 'up');
  rmSync(up, { force: true });
  const prompt = `own=$PWD; touch "${up}"
    until [ -e "${gate}" ]; do sleep 0.05; done; ${act}; echo answer`;
  const { data } = await server.call('spawn_shell', { prompt, ...more });
  await until('its start', () => existsSync(up));
  const id = String(data.agent_id);
  const waiting = server.call('wait_for_agents', { agent_ids: [id] });
  return { id, data, waiting };
}

const inLogs = (...names: string[]) => join(workspace.path, 'logs', ...names);
const acts: [string, () => void][] = [
  ['git clean -ffdx', () => workspace.git('clean', '-ffdxq')],
  ['git switch', () => workspace.git('switch', '--quiet', 'other')],
  ['git stash --all', () => workspace.git('stash', '--quiet', '--all')],
  [
    'rm -rf .agents logs',
    () => {
      for (const name of ['.agents', 'logs'])
        rmSync(join(workspace.path, name), { recursive: true, force: true });
    }
  ]
];

describe('while an agent runs and is waited for', () => {
  test.each(acts)('%s loses nothing', async (_, act) => {
    const { id, waiting } = await started();
    const log = inLogs('IAC.md');
    const isShown = () => readIfExists(log)?.includes(id);
    await until('the log', isShown);
    act();
    await until('the log again', isShown);
    const { data: listed } = await server.call('list');
    expect(listed.running).toMatchObject([{ id }]);
    writeFileSync(gate, '');
    const { data } = await waiting;
    expect(data).toMatchObject({
      status: 'all_completed',
      results: [{ agent_id: id, status: 'completed', result: 'answer' }]
    });
    await until('its page', () => existsSync(inLogs('agents', `${id}.md`)));
    await until('its end', () => readIfExists(log)?.includes('**Done**'));
  });

  test('an isolated agent whose worktree goes ends with that as its error', () =>
    expectLost(':'));

  test('an isolated agent whose worktree goes and that creates its folder again ends with that as its error', () =>
    expectLost('mkdir -p "$own"; echo z >"$own/after.txt"'));
});

test.each<[string, (worktree: string) => void, string | undefined]>([
  [
    'its repository is renamed',
    () => renameSync(join(workspace.path, '.git'), `${workspace.path}.git`),
    undefined
  ],
  [
    'its worktree is moved by git',
    (worktree) =>
      workspace.git('worktree', 'move', worktree, `${workspace.path}-moved`),
    'The files were not compared: its worktree was moved.'
  ]
])(
  'an isolated agent is judged by its own end though %s meanwhile',
  async (_, act, why) => {
    const { id, waiting } = await started({ isolate: 'worktree' });
    act(join(workspace.path, '.agents', 'worktrees', id));
    writeFileSync(gate, '');
    const { data } = await waiting;
    const [result] = data.results as Record<string, unknown>[];
    expect(result).toMatchObject({
      status: 'completed',
      error: null,
      result: 'answer'
    });
    expect(result?.files_changed_note).toBe(why);
  }
);

/** @param act what the agent does once its worktree is gone */
async function expectLost(act: string): Promise<void> {
  const { id, waiting } = await started({ isolate: 'worktree' }, act);
  const worktree = join(workspace.path, '.agents', 'worktrees', id);
  expect(readdirSync(worktree)).toContain('readme.txt');
  workspace.git('clean', '-ffdxq');
  expect(existsSync(worktree)).toBe(false);
  writeFileSync(gate, '');
  const { data } = await waiting;
  expect(data).toMatchObject({
    results: [
      {
        status: 'interrupted',
        error_code: 'interrupted',
        error: `Its worktree ${worktree} was deleted while it ran, with its uncommitted work; its output is kept.`,
        result: 'answer',
        files_changed_note:
          'The files were not compared: its worktree was deleted.'
      }
    ]
  });
}
