import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { until } from '../../kit/judges/until.ts';
import {
  askOf,
  asksOf,
  resultOf,
  spawnAsker
} from '../../kit/servers/ask-calls.ts';
import { runCommand } from '../../kit/servers/command-line.ts';
import { type McpClient, startServer } from '../../kit/servers/mcp-client.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../kit/workspaces/temp-workspace.ts';

let workspace: TempWorkspace;
let server: McpClient;

beforeEach(async () => {
  workspace = createTempWorkspace();
  workspace.write('.trouperc.json', '{"engines": {"rehearsal": true}}');
  server = await startServer(workspace);
});

afterEach(async () => {
  await server.close();
  expect(server.impurities).toEqual([]);
  expect(server.stderr).toBe('');
  workspace.remove();
});

function journal(): Record<string, unknown>[] {
  return readFileSync(join(workspace.record, 'iac.jsonl'), 'utf8')
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line));
}

test('a permission is asked for, allowed once, and acted on', async () => {
  const id = await spawnAsker(server, 'write notes.txt hi');
  const asks = await asksOf(server);
  expect(asks).toEqual([
    {
      ask_id: `${id}-1`,
      agent_id: id,
      engine: 'rehearsal',
      kind: 'permission',
      tool: 'Write',
      source: 'agent',
      path: 'notes.txt',
      waiting_seconds: expect.any(Number),
      expires_in_seconds: expect.any(Number)
    }
  ]);
  const answer = { ask_id: `${id}-1`, decision: 'allow' };
  const { data } = await server.call('answer_agent', answer);
  expect(data).toEqual({
    ask_id: `${id}-1`,
    agent_id: id,
    status: 'answered',
    waited_seconds: expect.any(Number)
  });
  expect(await resultOf(server, id)).toContain('wrote notes.txt');
  expect(readFileSync(join(workspace.path, 'notes.txt'), 'utf8')).toBe('hi\n');
  const again = await server.call('answer_agent', answer);
  expect(again).toMatchObject({
    isError: true,
    data: { error_code: 'already_answered', answered_by: 'coordinator' }
  });
  const events = journal().filter(({ type }) =>
    ['asked', 'answered'].includes(String(type))
  );
  expect(events).toMatchObject([
    { type: 'asked', ask_id: `${id}-1`, subject: 'notes.txt' },
    {
      type: 'answered',
      ask_id: `${id}-1`,
      by: 'coordinator',
      who: 'troupe-test',
      decision: 'allow',
      waited_ms: expect.any(Number)
    }
  ]);
});

test('a denial reaches the agent with its reason', async () => {
  const id = await spawnAsker(server, 'permit rm -r build');
  const [ask] = await asksOf(server);
  expect(ask).toMatchObject({ tool: 'Shell', command: 'rm -r build' });
  const text = 'the build is needed';
  const decision = 'deny';
  await server.call('answer_agent', { ask_id: ask?.ask_id, decision, text });
  expect(await resultOf(server, id)).toContain(
    '(refused rm -r build: Denied by the coordinator: the build is needed)'
  );
});

test('a question has its options, and its answer the name of who gave it', async () => {
  const id = await spawnAsker(server, 'ask Tabs or spaces? | tabs | spaces');
  const [ask] = await asksOf(server);
  expect(ask).toMatchObject({
    kind: 'question',
    tool: 'ask_coordinator',
    question: 'Tabs or spaces?',
    options: ['tabs', 'spaces']
  });
  const text = 'tabs';
  await server.call('answer_agent', { ask_id: ask?.ask_id, text });
  expect(await resultOf(server, id)).toContain(
    'Tabs or spaces? tabs (coordinator)'
  );
});

test('without an answer in time, a permission is denied and a question is open', async () => {
  const script = 'permit make\nask Which one?';
  const id = await spawnAsker(server, script, { ask_timeout: 1 });
  expect(await resultOf(server, id)).toMatch(
    /\(refused make: No answer came in time.*\)\n\(no answer to: Which one\?\)/
  );
  const late = { ask_id: `${id}-1`, decision: 'allow' };
  const { data } = await server.call('answer_agent', late);
  expect(data).toMatchObject({ error_code: 'ask_expired' });
  const ends = journal().filter(({ type }) => type === 'answered');
  expect(ends).toMatchObject([{ by: 'timeout' }, { by: 'timeout' }]);
});

test('of 20 answers at once, one wins', async () => {
  const id = await spawnAsker(server, 'permit make');
  const ask_id = await askOf(server, id);
  const other = await startServer(workspace);
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, n) =>
      (n % 2 ? server : other).call('answer_agent', {
        ask_id,
        decision: n % 4 < 2 ? 'allow' : 'deny'
      })
    )
  );
  await other.close();
  expect(answers.filter(({ isError }) => !isError)).toHaveLength(1);
  const codes = answers.map(({ data }) => data.error_code).filter(Boolean);
  expect(codes).toEqual(Array(19).fill('already_answered'));
  const winner = answers.findIndex(({ isError }) => !isError);
  const said = winner % 4 < 2 ? 'allowed make' : 'refused make';
  expect(await resultOf(server, id)).toContain(said);
});

test('an ask outlives its server, and another server answers it', async () => {
  const id = await spawnAsker(server, 'permit make');
  const ask_id = await askOf(server, id);
  server.child.kill('SIGKILL');
  await server.exited;
  server = await startServer(workspace);
  expect(await askOf(server, id)).toBe(ask_id);
  await server.call('answer_agent', { ask_id, decision: 'allow' });
  expect(await resultOf(server, id)).toContain('allowed make');
});

test('an ask whose bridge was killed is denied, and takes no answer', async () => {
  const id = await spawnAsker(server, 'permit make\nhang');
  const ask_id = await askOf(server, id);
  const file = join(workspace.record, 'spawns', id, 'asks', '1.json');
  const { bridge } = JSON.parse(readFileSync(file, 'utf8'));
  process.kill(bridge.pid, 'SIGKILL');
  await until('the ask is gone', async () => {
    const { data } = await server.call('list');
    return !('asking' in data);
  });
  const late = await server.call('answer_agent', { ask_id, decision: 'allow' });
  expect(late.data).toMatchObject({ error_code: 'ask_expired' });
  await server.call('cancel_agent', { agent_id: id });
});

test('an ask ends with its run', async () => {
  const id = await spawnAsker(server, 'permit make');
  const ask_id = await askOf(server, id);
  await server.call('cancel_agent', { agent_id: id });
  const late = await server.call('answer_agent', { ask_id, decision: 'allow' });
  expect(late.data).toMatchObject({ error_code: 'ask_expired' });
});

test('limits of time and silence pause while an agent asks', async () => {
  await server.close();
  const engine = { idleTimeoutSeconds: 2 };
  const config = { engines: { rehearsal: engine } };
  workspace.write('.trouperc.json', JSON.stringify(config));
  server = await startServer(workspace);
  const began = Date.now();
  const id = await spawnAsker(server, 'permit make', { timeout: 3 });
  const ask_id = await askOf(server, id);
  // Both limits have passed by then, with the second of their step.
  await until('6 s are over', () => Date.now() - began > 6000);
  await server.call('answer_agent', { ask_id, decision: 'allow' });
  expect(await resultOf(server, id)).toMatch(/^completed: .*allowed make/s);
});

test('a pause ends with the ask: a run that hangs is stopped', async () => {
  const script = 'permit make\nhang';
  const more = { timeout: 2, ask_timeout: 1 };
  const id = await spawnAsker(server, script, more);
  expect(await resultOf(server, id)).toMatch(/^timeout/);
});

test('each connection is told of an ask once, and list always has it', async () => {
  const id = await spawnAsker(server, 'permit make');
  const ask_id = await askOf(server, id);
  const { data } = await server.call('wait_for_agents', { timeout: 0.2 });
  expect(data).toMatchObject({ status: 'timeout', still_running: [id] });
  const other = await startServer(workspace);
  expect(await askOf(other, id)).toBe(ask_id);
  await other.close();
  const { data: listed } = await server.call('list');
  expect(listed).toMatchObject({
    running: [{ id, status: 'asking' }],
    asking: [{ ask_id, command: 'make' }]
  });
  for (const view of ['IAC.md', 'CONTEXT.md'])
    await until(view, () =>
      readFileSync(join(workspace.path, 'logs', view), 'utf8').includes(
        '(asking)'
      )
    );
  const iac = readFileSync(join(workspace.path, 'logs/IAC.md'), 'utf8');
  expect(iac).toContain('**Asking**');
  await server.call('answer_agent', { ask_id, decision: 'deny' });
  await resultOf(server, id);
});

test('ask "person" refuses agents, and the command line answers', async () => {
  const id = await spawnAsker(server, 'permit make', { ask: 'person' });
  const [ask] = await asksOf(server);
  expect(ask).toMatchObject({ ask_id: `${id}-1`, for: 'person' });
  const refused = await server.call('answer_agent', {
    ask_id: `${id}-1`,
    decision: 'allow'
  });
  expect(refused.data).toMatchObject({ error_code: 'not_yours' });
  const shown = await runCommand(workspace, ['asks', '--json']);
  expect(JSON.parse(shown.stdout)).toMatchObject([
    { ask_id: `${id}-1`, kind: 'permission', command: 'make' }
  ]);
  const said = await runCommand(workspace, ['answer', `${id}-1`, 'allow']);
  expect(said).toMatchObject({ code: 0, stderr: '' });
  expect(await resultOf(server, id)).toContain('allowed make');
});

test('a wrong answer is refused and leaves the ask open', async () => {
  const id = await spawnAsker(server, 'permit make');
  const ask_id = await askOf(server, id);
  const code = async (args: Record<string, unknown>) =>
    (await server.call('answer_agent', args)).data.error_code;
  expect(await code({ ask_id: `${id}-9`, decision: 'allow' })).toBe(
    'unknown_ask'
  );
  expect(await code({ ask_id: '../x', decision: 'allow' })).toBe('unknown_ask');
  expect(await code({ ask_id, text: 'yes' })).toBe('invalid_input');
  const { data } = await server.call('list');
  expect(data).toMatchObject({ asking: [{ ask_id }] });
  await server.call('answer_agent', { ask_id, decision: 'deny' });
  await resultOf(server, id);
});

test('without ask nothing is asked, and other engines refuse it', async () => {
  const { data } = await server.call('spawn_rehearsal', {
    prompt: 'permit make',
    access: 'read'
  });
  expect(await resultOf(server, String(data.agent_id))).toContain(
    '(refused make: access is read)'
  );
  for (const tool of ['spawn_grok', 'spawn_cursor_agent']) {
    const refused = await server.call(tool, { prompt: 'x', ask: 'person' });
    expect(refused).toMatchObject({
      isError: true,
      data: { error_code: 'ask_unsupported' }
    });
  }
});

test('rules answer without anybody', async () => {
  await server.close();
  const asks = {
    allow: [{ command: 'npm test' }, { path: 'docs/**' }],
    deny: [{ command: 'npm test --force' }]
  };
  const config = { engines: { rehearsal: true }, asks };
  workspace.write('.trouperc.json', JSON.stringify(config));
  server = await startServer(workspace);
  const script = [
    'permit npm test',
    'permit npm test --force',
    'permit npm test; rm -r x',
    'write docs/a.md hi'
  ].join('\n');
  const id = await spawnAsker(server, script, { ask_timeout: 1 });
  const result = await resultOf(server, id);
  expect(result).toContain('allowed npm test\n');
  expect(result).toContain('(refused npm test --force: Denied by a rule');
  expect(result).toContain('(refused npm test; rm -r x: No answer');
  expect(result).toContain('wrote docs/a.md');
  const ends = journal().filter(({ type }) => type === 'answered');
  expect(ends.map(({ by }) => by)).toEqual(['rule', 'rule', 'timeout', 'rule']);
});

test('a squad returns when a member asks', async () => {
  workspace.write(
    'agents/asker.md',
    '---\nengine: rehearsal\naccess: read\nask: coordinator\n---\nsay hello'
  );
  const started = await server.call('start_squad_members', {
    members: [{ roleId: 'asker', task: 'permit make' }]
  });
  expect(started.data).toMatchObject({
    status: 'needs_answer',
    asks: [{ command: 'make' }],
    members: [{ status: 'running' }]
  });
  const [ask] = started.data.asks as { ask_id: string; agent_id: string }[];
  await server.call('answer_agent', { ask_id: ask?.ask_id, decision: 'allow' });
  expect(await resultOf(server, String(ask?.agent_id))).toContain(
    'allowed make'
  );
});
