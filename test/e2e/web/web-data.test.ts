import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { until } from '../../kit/judges/until.ts';
import { spawnAsker } from '../../kit/servers/ask-calls.ts';
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
  createTempWorkspace,
  type TempWorkspace
} from '../../kit/workspaces/temp-workspace.ts';

let workspace: TempWorkspace;
let server: McpClient;
let web: StartedWeb;
let client: WebClient;

beforeEach(async () => {
  workspace = createTempWorkspace();
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

async function spawn(
  prompt: string,
  more: Record<string, unknown> = {}
): Promise<string> {
  const { data } = await server.call('spawn_rehearsal', { prompt, ...more });
  return String(data.agent_id);
}

async function ended(id: string): Promise<Record<string, unknown>> {
  return until(`the end of ${id}`, async () => {
    const data = await client.get(`/web/agents/${id}`);
    return data.completed_at === null ? undefined : data;
  });
}

function readMark(id: string): boolean {
  return existsSync(join(workspace.record, 'spawns', id, 'read'));
}

test('an agent is there with its facts, its prompt, its steps and its answer', async () => {
  const prompt =
    'Look at the parser\nprogress Reading parser.ts\nsay It reads **too far**.';
  const id = await spawn(prompt, { access: 'read' });
  expect(await ended(id)).toMatchObject({
    agent_id: id,
    agent_type: 'rehearsal',
    label: 'Rehearsal',
    status: 'completed',
    task: 'Look at the parser',
    access: 'read',
    client: 'troupe-test',
    cost_usd: 0,
    error: null,
    continue_refusal: null,
    relatives: [],
    prompt_chars: prompt.length
  });
  const part = (name: string) =>
    client.get(`/web/agents/${id}/text?part=${name}`);
  expect(await part('prompt')).toMatchObject({ text: prompt });
  expect(await part('answer')).toMatchObject({
    text: expect.stringContaining('It reads **too far**.'),
    next_offset: null
  });
  const { steps } = await client.get(`/web/agents/${id}/steps`);
  expect(steps).toContain('Reading parser.ts');
  expect(await part('stdout')).toMatchObject({
    text: expect.stringContaining('too far')
  });
});

test('the turns of an agent come in pages, and later ones by themselves', async () => {
  const id = await spawn('write notes.md\nsay The notes are there.');
  await ended(id);
  const path = `/web/agents/${id}/turns`;
  const { turns, more } = await client.get(path);
  expect(more).toBe(false);
  const rows = turns as { kind: string; seq: number }[];
  expect(rows).toContainEqual(
    expect.objectContaining({ kind: 'edit', path: 'notes.md' })
  );
  expect(rows.at(-1)).toMatchObject({
    kind: 'text',
    text: expect.stringContaining('The notes are there.')
  });
  const last = rows.at(-1)?.seq ?? 0;
  const later = await client.get(`${path}?from=${last}`);
  expect(later.turns).toEqual(rows.slice(-1));
  const earlier = await client.get(`${path}?before=${last}`);
  expect(earlier.turns).toEqual(rows.slice(0, -1));
});

test('a long text comes in parts that add up to it', async () => {
  const lines = Array.from(
    { length: 4000 },
    (_, line) => `${line} é 日本 😀 ${'x'.repeat(60)}`
  );
  const prompt = `Work\n${lines.join('\n')}`;
  const id = await spawn(prompt);
  let text = '';
  let parts = 0;
  for (let offset: unknown = 0; offset !== null; parts += 1) {
    const part = await client.get(
      `/web/agents/${id}/text?part=prompt&offset=${offset}`
    );
    text += part.text;
    offset = part.next_offset;
  }
  expect(parts).toBeGreaterThan(2);
  expect(text).toBe(prompt);
});

test('looking at an agent is no reading of its result, and a person opening it is', async () => {
  const id = await spawn('say hello');
  await ended(id);
  await client.get(`/web/agents/${id}/text?part=answer`);
  await client.get(`/web/agents/${id}/steps`);
  expect(readMark(id)).toBe(false);
  await client.post(`/web/agents/${id}/read`);
  expect(readMark(id)).toBe(true);
});

test('a cancellation ends the agent, and the journal says that it came from the page', async () => {
  const plain = await spawn('sleep 600');
  const explained = await spawn('sleep 600');
  const first = await client.post(`/web/agents/${plain}/cancel`);
  expect(bodyOf(first)).toMatchObject({ status: 'canceled', had_ended: false });
  const reason = 'the wrong branch';
  await client.post(`/web/agents/${explained}/cancel`, { reason });
  const imitated = await spawn('sleep 600');
  await server.call('cancel_agent', {
    agent_id: imitated,
    reason: 'from the page'
  });
  const again = await client.post(`/web/agents/${plain}/cancel`);
  expect(bodyOf(again)).toMatchObject({ status: 'canceled', had_ended: true });
  const reasons = journalOf(workspace)
    .filter(({ type }) => type === 'cancel_requested')
    .map(({ agent_id, reason, who }) => [agent_id, reason, who]);
  expect(reasons).toEqual([
    [plain, null, 'from the page'],
    [explained, 'the wrong branch', 'from the page'],
    [imitated, 'from the page', undefined]
  ]);
});

test('an agent is continued once, however often the request is sent', async () => {
  const id = await spawn('say hello', { access: 'read' });
  await ended(id);
  const body = { prompt: 'say and goodbye', request_id: 'page-12345678' };
  const first = bodyOf(await client.post(`/web/agents/${id}/continue`, body));
  const second = bodyOf(await client.post(`/web/agents/${id}/continue`, body));
  expect(second.agent_id).toBe(first.agent_id);
  const next = await ended(String(first.agent_id));
  expect(next).toMatchObject({
    continues: id,
    client: 'troupe web',
    access: 'read',
    relatives: [{ relation: 'continues', agent_id: id }]
  });
  expect(await client.get(`/web/agents/${id}`)).toMatchObject({
    relatives: [{ relation: 'continued_by', agent_id: first.agent_id }]
  });
  expect(journalOf(workspace)).toContainEqual(
    expect.objectContaining({ type: 'spawned', client: 'troupe web' })
  );
});

test('an ask is shown whole, answered once, and journalled as of a person at the page', async () => {
  const command = `npm test -- ${'x'.repeat(900)}END`;
  const id = await spawnAsker(server, `permit ${command}`, { ask: 'person' });
  const ask = `${id}-1`;
  await until('the ask', async () => {
    const data = await client.get(`/web/agents/${id}`);
    return data.status === 'asking' ? data : undefined;
  });
  expect(await client.get(`/web/asks/${ask}`)).toEqual({
    ask_id: ask,
    subject: command
  });
  const wrong = await client.post(`/web/asks/${ask}/answer`, { text: 'yes' });
  expect(wrong.status).toBe(400);
  const body = { decision: 'allow', text: 'go on' };
  const answer = await client.post(`/web/asks/${ask}/answer`, body);
  expect(bodyOf(answer)).toMatchObject({ ask_id: ask, status: 'answered' });
  const again = await client.post(`/web/asks/${ask}/answer`, body);
  expect(again.status).toBe(409);
  expect(again.text).toContain('already_answered');
  expect(await ended(id)).toMatchObject({ status: 'completed' });
  expect(journalOf(workspace)).toContainEqual(
    expect.objectContaining({
      type: 'answered',
      ask_id: ask,
      by: 'person',
      who: 'from the page',
      decision: 'allow'
    })
  );
});

test('the page allows no more than the configuration does', async () => {
  await web.end();
  web = await startWeb(workspace, ['--max-access', 'write']);
  client = await webClient(web);
  const id = await spawnAsker(server, 'permit rm -r build', { ask: 'person' });
  await asksOrNone(id);
  const path = `/web/asks/${id}-1/answer`;
  const allowed = await client.post(path, { decision: 'allow' });
  expect(allowed.status).toBe(403);
  expect(allowed.text).toContain('needs full access');
  const denied = await client.post(path, { decision: 'deny' });
  expect(denied.status).toBe(200);
});

async function asksOrNone(id: string): Promise<void> {
  await until('the ask', async () => {
    const { asks } = await client.get(`/web/agents/${id}`);
    return Array.isArray(asks) && asks.length > 0 ? true : undefined;
  });
}

test('a row holds 500 characters of a text at most', async () => {
  const id = await spawnAsker(
    server,
    `permit ${'y'.repeat(5000)}\n${'z'.repeat(5000)}`,
    { ask: 'person' }
  );
  await asksOrNone(id);
  const row = await client.get(`/web/agents/${id}`);
  for (const name of ['task', 'doing'])
    expect(String(row[name]).length).toBeLessThanOrEqual(501);
  const [ask] = row.asks as Record<string, unknown>[];
  expect(String(ask?.subject).length).toBeLessThanOrEqual(501);
  expect(ask?.subject_chars).toBe(5000);
});

test('squads, council, workers, journal and spend are there', async () => {
  const { data } = await server.call('start_squad_members', {
    members: [{ roleId: 'code-reviewer', task: 'say fine' }]
  });
  await server.call('start_council', {
    agent_name: 'one',
    request: 'Tabs or spaces?'
  });
  await server.call('send_response', { agent_name: 'two', content: 'Tabs.' });
  expect(await client.get('/web/squads')).toMatchObject({
    squads: [
      {
        squadId: data.squadId,
        members: [{ roleId: 'code-reviewer', agent: { kind: 'agent' } }]
      }
    ]
  });
  expect(await client.get('/web/council')).toMatchObject({
    session: { status: 'active' },
    request: { created_by: 'one', content: 'Tabs or spaces?' },
    responses: [{ author: 'two', content: 'Tabs.' }]
  });
  expect(await client.get('/web/workers')).toEqual({ workers: [] });
  const squads = await client.get('/web/squads');
  const [squad] = squads.squads as { members: { agent_id: string }[] }[];
  await ended(squad?.members[0]?.agent_id ?? '');
  expect(await client.get('/web/audit')).toMatchObject({
    entries: [
      { type: 'finished', status: expect.any(String) },
      { type: 'spawned', engine: 'rehearsal' }
    ],
    next: null
  });
  expect(await client.get('/web/audit/verify')).toMatchObject({
    ok: true,
    records: 2,
    faults: []
  });
  expect(await client.get('/web/spend?days=1')).toMatchObject({
    by_engine: [{ key: 'rehearsal', agents: 1 }],
    by_squad: [{ key: data.squadId, agents: 1 }]
  });
});

test('the journal comes in parts, newest first, that add up to it', async () => {
  for (let count = 0; count < 60; count += 1) {
    const { data } = await server.call('spawn_rehearsal', {
      prompt: `say ${count}`,
      access: 'read'
    });
    expect(data.error_code).toBeUndefined();
  }
  await server.call('wait_for_agents', {});
  const all = journalOf(workspace);
  const found: unknown[] = [];
  let parts = 0;
  for (let next: unknown = ''; next !== null; parts += 1) {
    const part = await client.get(
      `/web/audit${next === '' ? '' : `?before=${next}`}`
    );
    found.push(...(part.entries as unknown[]));
    next = part.next;
  }
  expect(parts).toBeGreaterThan(1);
  expect(found).toMatchObject(
    all.reverse().map(({ agent_id, type, n }) => ({ agent_id, type, n }))
  );
});

test('an unknown agent or ask is refused with the next step', async () => {
  for (const path of ['/web/agents/00000000', '/web/asks/00000000-1'])
    await expect(client.get(path)).rejects.toThrow(/404.*"hint":"\w/);
  const { status, text } = await client.post('/web/agents/00000000/cancel');
  expect(status).toBe(404);
  expect(text).toContain('unknown_agent');
});
