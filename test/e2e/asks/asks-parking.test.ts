import { spawn } from 'node:child_process';
import {
  appendFileSync,
  existsSync,
  readFileSync,
  writeFileSync
} from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  agentFile,
  configureParking,
  nothingLeft,
  runningIn,
  spawnParked as spawnAndPark,
  parked as untilParked,
  waitingOf,
  wordsOf
} from '../../kit/agents/parked-agent.ts';
import { processesOf } from '../../kit/agents/probe-agent.ts';
import { until } from '../../kit/judges/until.ts';
import {
  askOf,
  asksOf,
  resultOf,
  spawnAsker
} from '../../kit/servers/ask-calls.ts';
import { type McpClient, startServer } from '../../kit/servers/mcp-client.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../kit/workspaces/temp-workspace.ts';

let workspace: TempWorkspace;
let server: McpClient;

beforeEach(async () => {
  workspace = createTempWorkspace();
  configure();
  server = await startServer(workspace);
});

afterEach(async () => {
  await server.close();
  expect(server.stderr).toBe('');
  workspace.remove();
});

const configure = (more: object = {}) => configureParking(workspace, more);
const fileOf = (id: string, name: string) => agentFile(workspace, id, name);
const parked = (id: string) => untilParked(workspace, id);
const spawnParked = (script: string, more: object = {}) =>
  spawnAndPark(workspace, server, script, more);

/** The variables by which the processes of an agent are found. */
function marksOf(pid: number): Record<string, string> {
  const lines = readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0');
  return Object.fromEntries(
    lines
      .filter((line) => line.startsWith('TROUPE_AGENT_'))
      .map((line) => line.split('=', 2))
  );
}

const answer = (ask_id: string, given: object) =>
  server.call('answer_agent', { ask_id, ...given });

const eventsOf = (id: string) =>
  readFileSync(fileOf(id, 'stdout'), 'utf8')
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line));

test('a parked agent does what it is allowed, once, and has one result', async () => {
  const script = 'say before\nwrite notes.txt hi\npermit make\nsay after';
  const id = await spawnParked(script);
  const { data: list } = await server.call('list');
  expect(list.running).toMatchObject([{ id, status: 'asking' }]);
  expect(list.asking).toHaveLength(1);
  await answer(`${id}-1`, { decision: 'allow' });
  // The other call is another ask: the answer was for one of them.
  const second = await until('the second ask', async () => {
    const [ask] = await asksOf(server, [id]);
    return ask?.ask_id === `${id}-2` ? ask : undefined;
  });
  expect(second).toMatchObject({ command: 'make' });
  expect(readFileSync(join(workspace.path, 'notes.txt'), 'utf8')).toBe('hi\n');
  await answer(`${id}-2`, { decision: 'allow' });
  expect(await resultOf(server, id)).toBe(
    'completed: Rehearsal, no model was asked.\nbefore\nwrote notes.txt\nallowed make\nafter'
  );
  const { data } = await server.call('result', { agent_id: id });
  expect(data).toMatchObject({ success: true, usage: null, cost_usd: null });
  const edits = eventsOf(id).filter(({ type }) => type === 'edit');
  expect(edits).toHaveLength(1);
  await nothingLeft(id);
});

test('a parked agent is denied with the reason, and goes on', async () => {
  const id = await spawnParked('permit rm -r build\nsay after');
  await answer(`${id}-1`, { decision: 'deny', text: 'the build is needed' });
  expect(await resultOf(server, id)).toContain(
    '(refused rm -r build: Denied by the coordinator: the build is needed)\nafter'
  );
  await nothingLeft(id);
});

test('the question of a parked agent gets its answer', async () => {
  const id = await spawnParked('ask Tabs or spaces? | tabs | spaces');
  await answer(`${id}-1`, { text: 'tabs' });
  expect(await resultOf(server, id)).toContain(
    'Tabs or spaces? tabs (coordinator)'
  );
});

test('an unfinished line of the ended program does not spoil the next one', async () => {
  const id = await spawnAsker(server, 'permit make', { ask_timeout: 60 });
  await until('the ask', () => existsSync(fileOf(id, 'asks/1.json')));
  appendFileSync(fileOf(id, 'stdout'), '{"type":"prog');
  await parked(id);
  await answer(`${id}-1`, { decision: 'allow' });
  expect(await resultOf(server, id)).toContain('allowed make');
});

test('an agent with two open asks goes on once both are answered', async () => {
  // Long enough for the second ask to be there on a busy machine.
  configure({ asks: { parkAfter: 4 } });
  await server.close();
  server = await startServer(workspace);
  const id = await spawnAsker(server, 'permit make', { ask_timeout: 60 });
  await until('the first ask', () => existsSync(fileOf(id, 'asks/1.json')));
  const first = await until('its bridge', () =>
    runningIn(id, 'ask-bridge.cjs')
  );
  // As a second call of the same program, by its hook.
  const [, bridge = ''] = wordsOf(first);
  const hook = spawn(process.execPath, [bridge, fileOf(id, ''), 'hook'], {
    env: { ...process.env, ...marksOf(first) }
  });
  const hasEnded = new Promise((resolve) => hook.on('close', resolve));
  let said = '';
  hook.stdout.on('data', (chunk) => {
    said += chunk;
  });
  hook.stdin.end('{"toolName": "Shell", "toolInput": {"command": "test"}}');
  await until('the second ask', () => existsSync(fileOf(id, 'asks/2.json')));
  await parked(id);
  await hasEnded;
  expect(said).toBe('');
  await answer(`${id}-1`, { decision: 'allow' });
  const waiting = waitingOf(id);
  const { data: list } = await server.call('list');
  expect(list.running).toMatchObject([{ id, status: 'asking' }]);
  await answer(`${id}-2`, { decision: 'deny' });
  expect(await resultOf(server, id)).toContain('allowed make');
  expect(waiting).toBeDefined();
  await nothingLeft(id);
});

test('an agent may be parked again and again', async () => {
  const numbers = [1, 2, 3, 4, 5, 6];
  const script = numbers.map((n) => `permit make ${n}`).join('\n');
  const id = await spawnAsker(server, script, { ask_timeout: 60 });
  for (const n of numbers) {
    await until('the ask', () => existsSync(fileOf(id, `asks/${n}.json`)));
    await parked(id);
    await answer(`${id}-${n}`, { decision: n === 5 ? 'deny' : 'allow' });
  }
  const said = await resultOf(server, id);
  expect(said).toContain('allowed make 4\n(refused make 5: Denied');
  expect(said).toContain('allowed make 6');
});

test('a program that does not want to end is gone before its agent is parked, with all it left', async () => {
  const script = 'ignore-term\nleave-child\nleave-daemon\npermit make';
  const id = await spawnParked(script);
  expect(runningIn(id, 'ask-bridge.cjs')).toBeUndefined();
  const daemons = processesOf(id).filter((pid) =>
    readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('setInterval')
  );
  expect(daemons).toEqual([]);
  await answer(`${id}-1`, { decision: 'allow' });
  expect(await resultOf(server, id)).toContain('allowed make');
  await nothingLeft(id);
});

test('a parked agent can be canceled, and leaves nothing', async () => {
  const id = await spawnParked('permit make');
  await server.call('cancel_agent', { agent_id: id });
  expect(await resultOf(server, id)).toContain('canceled');
  const late = await answer(`${id}-1`, { decision: 'allow' });
  expect(late.data).toMatchObject({ error_code: 'ask_expired' });
  await nothingLeft(id);
});

test('a parked agent outlives its server, and another one answers it', async () => {
  const id = await spawnParked('permit make');
  server.child.kill('SIGKILL');
  await server.exited;
  server = await startServer(workspace);
  expect(await askOf(server, id)).toBe(`${id}-1`);
  await answer(`${id}-1`, { decision: 'allow' });
  expect(await resultOf(server, id)).toContain('allowed make');
  await nothingLeft(id);
});

test('a parked agent ends with its server where it is to', async () => {
  await server.close();
  configure({ onDisconnect: 'stop' });
  server = await startServer(workspace);
  const id = await spawnParked('permit make');
  server.child.kill('SIGKILL');
  await server.exited;
  await nothingLeft(id);
  server = await startServer(workspace);
  expect(await resultOf(server, id)).toContain('interrupted');
});

test('a parked agent is denied what is not answered in time', async () => {
  const script = 'permit make\nask Which one?';
  const id = await spawnAsker(server, script, { ask_timeout: 2 });
  await parked(id);
  expect(await resultOf(server, id)).toMatch(
    /\(refused make: No answer came in time.*\)\n\(no answer to: Which one\?\)/
  );
  await nothingLeft(id);
});

test('limits of time pause while an agent is parked, and no longer', async () => {
  const id = await spawnParked('permit make\nhang', { timeout: 2 });
  await until('a time beyond the limit', async () => {
    const { data } = await server.call('list');
    expect(data.running).toMatchObject([{ id, status: 'asking' }]);
    const [{ sec }] = data.running as [{ sec: number }];
    return sec > 5;
  });
  await answer(`${id}-1`, { decision: 'allow' });
  expect(await resultOf(server, id)).toContain('timeout');
  await nothingLeft(id);
});

test('when what waits is killed, another process waits, and has the answer', async () => {
  const id = await spawnParked('permit make');
  const first = await parked(id);
  process.kill(first, 'SIGKILL');
  await until('another process', () => {
    const now = waitingOf(id);
    return now !== undefined && now !== first;
  });
  await answer(`${id}-1`, { decision: 'allow' });
  expect(await resultOf(server, id)).toContain('allowed make');
  await nothingLeft(id);
});

test('what a killed process began to park is parked, and has the answer', async () => {
  configure({ asks: { parkAfter: 1 } });
  const other = await startServer(workspace);
  const id = await spawnAsker(other, 'permit make', { ask_timeout: 60 });
  await until('the ask', () => existsSync(fileOf(id, 'asks/1.json')));
  // As it leaves them between the mark and the first signal.
  const parker = { pid: 2 ** 22 + 1, start: '1', place: 'gone' };
  const mark = { session: id, asks: [`${id}-1`], parker };
  writeFileSync(fileOf(id, 'asks/1.held'), '');
  writeFileSync(fileOf(id, 'asks/parked'), JSON.stringify(mark));
  await answer(`${id}-1`, { decision: 'allow' });
  // Its bridge keeps the answer, and parks the run.
  expect(await resultOf(other, id)).toContain('allowed make');
  expect(eventsOf(id).filter(({ type }) => type === 'session')).toHaveLength(2);
  await nothingLeft(id);
  await other.close();
});

test('an answer at the moment of parking is neither lost nor used twice', async () => {
  const ids = await Promise.all(
    Array.from({ length: 6 }, (_, n) =>
      spawnAsker(server, `write notes-${n}.txt hi`, { ask_timeout: 60 })
    )
  );
  await Promise.all(
    ids.map(async (id, n) => {
      // From the offer to park to the program's end.
      const moment = ['1.json', '1.call', '1.held', 'parked'][n % 4] ?? '';
      await until(moment, () => existsSync(fileOf(id, `asks/${moment}`)));
      await answer(`${id}-1`, { decision: 'allow' });
    })
  );
  for (const [n, id] of ids.entries()) {
    expect(await resultOf(server, id)).toContain(`wrote notes-${n}.txt`);
    const edits = eventsOf(id).filter(({ type }) => type === 'edit');
    expect(edits).toHaveLength(1);
    await nothingLeft(id);
  }
});

test('what waits takes less than 10 MB of private memory', async () => {
  const id = await spawnParked('permit make');
  const pid = await parked(id);
  const text = readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8');
  const kilobytes = [...text.matchAll(/^Private_\w+:\s+(\d+)/gm)]
    .map(([, count]) => Number(count))
    .reduce((sum, count) => sum + count, 0);
  expect(kilobytes / 1024).toBeLessThan(10);
});

test('an agent whose asks end soon is not parked', async () => {
  configure({ asks: { parkAfter: 2 } });
  const other = await startServer(workspace);
  const id = await spawnAsker(other, 'permit make', { ask_timeout: 2 });
  expect(await resultOf(other, id)).toContain('No answer came in time');
  expect(existsSync(fileOf(id, 'asks/resume'))).toBe(false);
  await other.close();
});
