import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  agentFile,
  configureParking,
  nothingLeft,
  runningIn,
  spawnParked,
  waitingOf
} from '../../kit/agents/parked-agent.ts';
import { processesOf } from '../../kit/agents/probe-agent.ts';
import { until } from '../../kit/judges/until.ts';
import { resultOf, spawnAsker } from '../../kit/servers/ask-calls.ts';
import { type McpClient, startServer } from '../../kit/servers/mcp-client.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../kit/workspaces/temp-workspace.ts';

const waitingProgram = join(import.meta.dirname, '../../../dist/parked.cjs');

let workspace: TempWorkspace;
let server: McpClient;

beforeEach(async () => {
  workspace = createTempWorkspace();
  configureParking(workspace);
  server = await startServer(workspace);
});

afterEach(async () => {
  await server.close();
  workspace.remove();
});

const fileOf = (id: string, name: string) => agentFile(workspace, id, name);
const allow = (id: string, n: number) =>
  server.call('answer_agent', { ask_id: `${id}-${n}`, decision: 'allow' });

test('when the process that parks is killed, each answer reaches the agent', async () => {
  const script = 'write notes.txt hi\npermit make';
  const ids = await Promise.all(
    [1, 2, 3, 4].map(() => spawnAsker(server, script, { ask_timeout: 60 }))
  );
  await Promise.all(
    ids.map(async (id) => {
      await until('the parking', () => existsSync(fileOf(id, 'asks/parked')));
      const parker = runningIn(id, 'reaper.cjs');
      if (parker !== undefined) process.kill(parker, 'SIGKILL');
      await allow(id, 1);
      await until('the next ask', () => existsSync(fileOf(id, 'asks/2.json')));
      await until('its parking', () => waitingOf(id));
      await allow(id, 2);
    })
  );
  for (const id of ids) {
    expect(await resultOf(server, id)).toMatch(/notes\.txt\nallowed make/);
    await nothingLeft(id);
  }
});

test('what an earlier parking left does not keep an agent from being parked', async () => {
  configureParking(workspace, { asks: { parkAfter: 1 } });
  const other = await startServer(workspace);
  const id = await spawnAsker(other, 'permit make', { ask_timeout: 60 });
  await until('the ask', () => existsSync(fileOf(id, 'asks/1.json')));
  writeFileSync(fileOf(id, 'asks/cleared'), '');
  await until('the process that waits', () => waitingOf(id));
  await allow(id, 1);
  expect(await resultOf(other, id)).toContain('allowed make');
  await nothingLeft(id);
  await other.close();
});

test('an answer to a parked agent that was killed has expired', async () => {
  const id = await spawnParked(workspace, server, 'permit make');
  server.child.kill('SIGKILL');
  await server.exited;
  for (const pid of processesOf(id)) process.kill(pid, 'SIGKILL');
  await nothingLeft(id);
  server = await startServer(workspace);
  const { data } = await allow(id, 1);
  expect(data).toMatchObject({ error_code: 'ask_expired' });
  expect(await resultOf(server, id)).toMatch(/^interrupted/);
});

/** An agent that is parked, whose parker and program are gone. */
function parkedFolder(script: string) {
  const directory = join(workspace.path, 'agent');
  const asks = join(directory, 'asks');
  mkdirSync(asks, { recursive: true });
  const mark = (name: string, text: string) =>
    writeFileSync(join(asks, name), text);
  const parker = { pid: 2 ** 22 + 1, start: '1', place: 'gone' };
  const parked = JSON.stringify({ session: 's', asks: [], parker });
  mark('parked', parked);
  mark(
    'resume',
    JSON.stringify({
      ...{ command: '/bin/sh', args: ['-c', script], placeholder: '<id>' },
      ...{ sessionId: null, session: { type: 'session', field: 'id' } }
    })
  );
  const start = () => {
    const child = spawn(process.execPath, [waitingProgram, directory, '0'], {
      cwd: directory,
      stdio: 'ignore'
    });
    const ended = new Promise((resolve) => child.on('close', resolve));
    return { child, ended };
  };
  const isReady = () => existsSync(join(directory, 'ready'));
  return { asks, mark, parked, start, isReady };
}

test('a killed parker is noticed at once, and what it left is done', async () => {
  const { start, isReady } = parkedFolder(': >ready');
  const { ended } = start();
  // A parker that lives has 15 s.
  await until('the program', isReady, 10_000);
  expect(await ended).toBe(0);
});

test('a program that is parked again gets SIGTERM first', async () => {
  const script = `trap 'exit 7' TERM; : >ready; while :; do sleep 0.05; done`;
  const { asks, mark, parked, start, isReady } = parkedFolder(script);
  mark('cleared', '');
  const { child, ended } = start();
  await until('the program', isReady);
  expect(existsSync(join(asks, 'parked'))).toBe(false);
  // A canceled program gets its own signal.
  child.kill('SIGTERM');
  mark('parked', parked);
  child.kill('SIGTERM');
  expect(await ended).toBe(7);
});
