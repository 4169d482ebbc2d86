import { appendFileSync, existsSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  agentFile,
  configureParking,
  nothingLeft,
  runningIn,
  spawnParked,
  waitingOf
} from '../../kit/agents/parked-agent.ts';
import { until } from '../../kit/judges/until.ts';
import { resultOf, spawnAsker } from '../../kit/servers/ask-calls.ts';
import { runCommand } from '../../kit/servers/command-line.ts';
import { type McpClient, startServer } from '../../kit/servers/mcp-client.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../kit/workspaces/temp-workspace.ts';

let workspace: TempWorkspace;
let server: McpClient;

beforeEach(() => {
  workspace = createTempWorkspace();
});

afterEach(async () => {
  await server.close();
  expect(server.stderr).toBe('');
  workspace.remove();
});

async function start(config: object = {}): Promise<void> {
  configureParking(workspace, config);
  server = await startServer(workspace);
}

const allow = (id: string) =>
  server.call('answer_agent', { ask_id: `${id}-1`, decision: 'allow' });

async function errorOf(id: string): Promise<string> {
  const { data } = await server.call('result', { agent_id: id });
  return String(data.error);
}

async function untilOlderThan(seconds: number): Promise<void> {
  await until(`an age of ${seconds} s`, async () => {
    const { data } = await server.call('list');
    expect(data.running).toMatchObject([{ status: 'asking' }]);
    const [{ sec }] = data.running as [{ sec: number }];
    return sec > seconds;
  });
}

test('silence ends no parked agent, and one that hangs later', async () => {
  await start({ engines: { rehearsal: { idleTimeoutSeconds: 2 } } });
  const id = await spawnParked(workspace, server, 'permit make\nhang');
  await untilOlderThan(5);
  await allow(id);
  expect(await resultOf(server, id)).toMatch(/^timeout/);
  expect(await errorOf(id)).toContain('printed nothing for too long');
  await nothingLeft(id);
});

test('the output of both programs counts towards its limit', async () => {
  await start({ outputLimitMegabytes: 3 });
  const script = 'print 2\npermit make\nprint 2\nhang';
  const id = await spawnParked(workspace, server, script);
  await untilOlderThan(2);
  await allow(id);
  expect(await resultOf(server, id)).toMatch(/^failed/);
  expect(await errorOf(id)).toContain('its output passed the limit');
  await nothingLeft(id);
});

test('a program that still prints is not ended for its ask', async () => {
  await start({ asks: { parkAfter: 1 } });
  const id = await spawnAsker(server, 'permit make', { ask_timeout: 60 });
  const output = agentFile(workspace, id, 'stdout');
  await until('the offer to park', () => {
    appendFileSync(output, '\n');
    return existsSync(agentFile(workspace, id, 'asks/1.call'));
  });
  for (let line = 0; line < 10; line += 1) {
    appendFileSync(output, '\n');
    await delay(100);
  }
  expect(runningIn(id, 'rehearsal-agent.cjs')).toBeDefined();
  await allow(id);
  expect(await resultOf(server, id)).toContain('allowed make');
  await nothingLeft(id);
});

test('clean leaves a parked agent alone', async () => {
  await start();
  const id = await spawnParked(workspace, server, 'permit make');
  const refused = await runCommand(workspace, ['clean', id, '--yes']);
  expect(refused.stderr).toContain('running');
  expect(refused.code).not.toBe(0);
  const age = ['--older-than', '1s', '--keep', '0', '--yes'];
  const done = await runCommand(workspace, ['clean', ...age]);
  expect(done.code).toBe(0);
  expect(waitingOf(id)).toBeDefined();
  await allow(id);
  expect(await resultOf(server, id)).toContain('allowed make');
  await nothingLeft(id);
});
