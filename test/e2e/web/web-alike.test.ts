import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { until } from '../../kit/judges/until.ts';
import { type McpClient, startServer } from '../../kit/servers/mcp-client.ts';
import {
  bodyOf,
  journalOf,
  problemsOf,
  type StartedWeb,
  startWeb,
  type WebClient,
  webClient
} from '../../kit/servers/web-server.ts';
import {
  createGitWorkspace,
  type GitWorkspace
} from '../../kit/workspaces/git-workspace.ts';

let workspace: GitWorkspace;
let server: McpClient;
let web: StartedWeb;
let client: WebClient;

beforeEach(async () => {
  workspace = await createGitWorkspace();
  workspace.write('.trouperc.json', '{"engines": {"rehearsal": true}}');
  server = await startServer(workspace, { flags: ['--engine', 'rehearsal'] });
  web = await startWeb(workspace);
  client = await webClient(web);
});

afterEach(async () => {
  expect(await web.end()).toBe(0);
  expect(problemsOf(web)).toEqual([]);
  await server.close();
  workspace.remove();
});

async function spawn(more: Record<string, unknown> = {}): Promise<string> {
  const prompt = 'say hello';
  const { data } = await server.call('spawn_rehearsal', { prompt, ...more });
  return String(data.agent_id);
}

async function ended(id: unknown): Promise<Record<string, unknown>> {
  return until(`the end of ${id}`, async () => {
    const data = await client.get(`/web/agents/${id}`);
    return data.completed_at === null ? undefined : data;
  });
}

function alike(like: string, more: Record<string, unknown> = {}) {
  return client.post('/web/agents', {
    ...{ like, prompt: 'say alike', request_id: 'page-12345678' },
    ...more
  });
}

test('an agent alike has engine, model, access, directory and role of the other, and starts once', async () => {
  workspace.write('part/file.txt', 'x');
  const id = await spawn({
    ...{ access: 'read', model: 'script', cwd: 'part', ask: 'person' },
    system_prompt: 'You are careful.'
  });
  const first = bodyOf(await alike(id));
  const second = bodyOf(await alike(id));
  expect(second.agent_id).toBe(first.agent_id);
  expect(first.error).toBeNull();
  const facts = await client.get(`/web/agents/${id}`);
  const { agent_type, model, access, cwd, system_prompt } = facts;
  expect(cwd).toBe(join(workspace.path, 'part'));
  expect(await ended(first.agent_id)).toMatchObject({
    ...{ agent_type, model, access, cwd, system_prompt, task: 'say alike' },
    ...{ client: 'troupe web', continues: null, alike_refusal: null }
  });
  const spawned = journalOf(workspace).filter(({ type }) => type === 'spawned');
  expect(spawned.map(({ client }) => client)).toEqual([
    'troupe-test',
    'troupe web'
  ]);
});

test('an agent like an isolated one has a worktree of its own', async () => {
  const id = await spawn({ isolate: 'worktree', access: 'write' });
  const { worktree } = await ended(id);
  const { agent_id: next } = bodyOf(
    await alike(id, { prompt: 'write notes.md' })
  );
  const other = await ended(next);
  expect(other).toMatchObject({
    status: 'completed',
    access: 'write',
    worktree: { branch: `troupe/${next}` }
  });
  expect(other.worktree).not.toEqual(worktree);
  expect(existsSync(join(workspace.path, 'notes.md'))).toBe(false);
});

test('an agent alike has no more access than the configuration allows', async () => {
  const id = await spawn({ access: 'full' });
  await web.end();
  web = await startWeb(workspace, ['--max-access', 'read']);
  client = await webClient(web);
  const { agent_id: next } = bodyOf(await alike(id));
  expect(await ended(next)).toMatchObject({ access: 'read' });
});

test('spawns of the page count for the limits of all', async () => {
  workspace.write(
    '.trouperc.json',
    '{"engines": {"rehearsal": true}, "maxSpawnsPerMinute": 1}'
  );
  await web.end();
  web = await startWeb(workspace);
  client = await webClient(web);
  const id = await spawn();
  await until('the refusal', async () => {
    const answer = await alike(id, { request_id: `page-${Math.random()}` });
    return answer.text.includes('spawn_rate') ? true : undefined;
  });
});

test.each([
  [{ prompt: ' ' }, 'prompt is empty'],
  [{ request_id: 'short' }, 'request_id'],
  [{ access: 'full' }, 'access']
])('bad input %j is refused in one sentence', async (more, part) => {
  const { status, text } = await alike(await spawn(), more);
  const { code, message, hint } = JSON.parse(text).error;
  expect([status, code]).toEqual([400, 'invalid_input']);
  expect(message).toContain(part);
  expect(message).toMatch(/^The request is invalid: [^.]*\.$/);
  expect(hint).toMatch(/\w/);
});

test('no agent is like an unknown one', async () => {
  const { status, text } = await alike('1a2b3c4d');
  expect(status).toBe(404);
  expect(text).toContain('unknown_agent');
});
