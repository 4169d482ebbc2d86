import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { until } from '../../kit/judges/until.ts';
import { runCommand, startCommand } from '../../kit/servers/command-line.ts';
import { startServer } from '../../kit/servers/mcp-client.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../kit/workspaces/temp-workspace.ts';

let workspace: TempWorkspace;

beforeEach(() => {
  workspace = createTempWorkspace();
});

afterEach(() => workspace.remove());

const asking = ['--access', 'read', '--ask', 'coordinator'];

/** Leaves an agent at work that asks, and returns its id. */
async function startAsking(script: string, ...more: string[]): Promise<string> {
  const words = ['run', 'rehearsal', script, ...asking, '-b', ...more];
  const { stdout, code } = await runCommand(workspace, words);
  expect(code).toBe(0);
  return stdout.trim();
}

async function json(...words: string[]) {
  const { stdout, code } = await runCommand(workspace, [...words, '--json']);
  return { code, data: JSON.parse(stdout) };
}

async function answer(...words: string[]): Promise<void> {
  const { code } = await runCommand(workspace, ['answer', ...words]);
  expect(code).toBe(0);
}

test('run --ask starts an agent that asks, and wait returns with what it asks', async () => {
  const id = await startAsking('permit make\nsay done');
  const { code, data } = await json('wait', id);
  expect(code).toBe(3);
  expect(data).toMatchObject({
    status: 'needs_answer',
    asks: [{ ask_id: `${id}-1`, kind: 'permission', command: 'make' }],
    still_running: [id],
    results: []
  });
  await answer(`${id}-1`, 'allow');
  const ended = await json('wait', id);
  expect(ended).toMatchObject({ code: 0, data: { status: 'all_completed' } });
  expect(ended.data).not.toHaveProperty('asks');
  expect(ended.data.results[0].result).toContain('allowed make');
});

test('wait prints an ask with the command that answers it', async () => {
  const id = await startAsking('ask Tabs? | yes | no');
  const { code, stdout } = await runCommand(workspace, ['wait']);
  expect(code).toBe(3);
  expect(stdout).toMatch(new RegExp(`^${id} .*asking`, 'm'));
  expect(stdout).toContain(`  Tabs?\n  - yes\n  - no\n`);
  expect(stdout).toContain(`troupe answer ${id}-1 "text"`);
  await answer(`${id}-1`, 'yes');
  expect((await json('wait', id)).data.status).toBe('all_completed');
});

test('wait --any returns an answer that is there before an ask', async () => {
  const words = ['run', 'rehearsal', 'say early', '-b'];
  const { stdout } = await runCommand(workspace, words);
  const early = stdout.trim();
  await runCommand(workspace, ['wait', early]);
  const id = await startAsking('permit make');
  await json('wait', id);
  const { code, data } = await json('wait', early, id, '--any');
  expect(code).toBe(0);
  expect(data).toMatchObject({ status: 'any_completed', still_running: [id] });
  expect(data).not.toHaveProperty('asks');
  await answer(`${id}-1`, 'deny');
});

test('the result of an agent that asks says so, by command and by tool', async () => {
  const id = await startAsking('permit make');
  await json('wait', id);
  const { code, data } = await json('result', id);
  expect(code).toBe(3);
  expect(data).toMatchObject({ agent_id: id, status: 'asking' });
  const said = await runCommand(workspace, ['result', id]);
  expect(said.stderr).toContain('is asking');
  expect(said.stderr).toContain(`troupe answer ${id}-1 allow|deny`);
  const server = await startServer(workspace, {
    flags: ['--workspace', workspace.path]
  });
  const { data: told } = await server.call('result', { agent_id: id });
  expect(told).toMatchObject({ agent_id: id, status: 'asking' });
  expect(told.message).toContain('Waiting for an answer');
  await server.close();
  await answer(`${id}-1`, 'deny');
  expect((await json('wait', id)).data.results[0]).toMatchObject({
    status: 'completed'
  });
});

test('run in the foreground shows what its agent asks, and goes on after the answer', async () => {
  const words = ['run', 'rehearsal', 'permit make', ...asking];
  const running = startCommand(workspace, words);
  const [, id = ''] = await running.says('stderr', /\) ([0-9a-f]{8}), access/);
  await running.says('stderr', new RegExp(`asks: ${id}-1 Shell: make`));
  await answer(`${id}-1`, 'allow');
  await running.says('stdout', /allowed make/);
  await until('its end', () => running.child.exitCode !== null);
  expect(running.child.exitCode).toBe(0);
});

test('run --ask-timeout refuses what is not answered in time', async () => {
  const id = await startAsking('permit make', '--ask-timeout', '1');
  await json('wait', id);
  const file = join(workspace.record, 'spawns', id, 'asks', '1.answer');
  await until('the end of the ask', () => {
    try {
      return readFileSync(file, 'utf8').includes('timeout');
    } catch {
      return false;
    }
  });
  const late = await runCommand(workspace, ['answer', `${id}-1`, 'allow']);
  expect(late.stderr).toContain('ended without an answer');
  expect(late.code).toBe(1);
});

test('run --ask none does not ask, and an engine that cannot ask refuses it', async () => {
  const none = ['run', 'rehearsal', 'permit make', '--access', 'read'];
  const said = await runCommand(workspace, [...none, '--ask', 'none']);
  expect(said.stdout).toContain('refused make: access is read');
  const api = ['run', 'grok', 'hello', '--ask', 'person'];
  const refused = await runCommand(workspace, api);
  expect(refused.code).toBe(1);
  expect(refused.stderr).toContain('is an API');
  const wrong = [...none, '--ask', 'anybody'];
  expect((await runCommand(workspace, wrong)).stderr).toContain(
    'Use one of: coordinator, person, none.'
  );
});
