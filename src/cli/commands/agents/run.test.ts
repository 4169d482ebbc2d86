import { existsSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { idOf, makeUp } from '../../../../test/kit/agents/made-up-agents.ts';
import { until } from '../../../../test/kit/judges/until.ts';
import { commandHere } from '../../../../test/kit/servers/command-here.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../../../test/kit/workspaces/temp-workspace.ts';
import { loadConfig } from '../../../config/config.ts';
import { wasRead } from '../../../core/runs/run-files.ts';
import { RunStore } from '../../../core/runs/run-store.ts';
import { createHost } from '../../../host/host.ts';

let workspace: TempWorkspace;

beforeEach(() => {
  workspace = createTempWorkspace();
});

afterEach(() => workspace.remove());

const troupe = (...args: string[]) =>
  commandHere(workspace, [...args, '--workspace', workspace.path]);

const run = (prompt: string, ...flags: string[]) =>
  troupe('run', 'rehearsal', prompt, ...flags);

const answer = (text: string) => `Rehearsal, no model was asked.\n${text}\n`;

const store = () => new RunStore(workspace.record);

describe('run', () => {
  test('prints the answer on stdout, the start and the end on stderr, and marks it as read', async () => {
    const { code, stdout, stderr } = await run('say all good');
    expect([code, stdout]).toEqual([0, answer('all good')]);
    const [id = ''] = store().ids();
    expect(stderr).toMatch(
      new RegExp(
        `troupe: Rehearsal \\(script\\) ${id}, access full.*, timeout \\d+ s\n`
      )
    );
    expect(stderr).toMatch(new RegExp(`${id} completed \\(`));
    expect(wasRead(store().directoryOf(id))).toBe(true);
    expect(existsSync(join(workspace.path, 'logs', 'IAC.md'))).toBe(true);
  });

  test('of an agent that fails exits with 2, and says why', async () => {
    const { code, stderr } = await run('fail rate_limited try later');
    expect(code).toBe(2);
    expect(stderr).toMatch(/failed .*try later \[rate_limited\]/);
  });

  test('prints the outcome as JSON, and what the agent changed', async () => {
    const { code, stdout, stderr } = await run('write a.txt hi', '--json');
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({
      ...{ agent_type: 'rehearsal', status: 'completed' }
    });
    expect(stderr).not.toContain('It was');
  });

  test('in the background prints the id, and leaves the agent at work', async () => {
    const { code, stdout, stderr } = await run('say late', '-b');
    expect(code).toBe(0);
    const id = stdout.trim();
    expect(store().ids()).toEqual([id]);
    expect(stderr).toContain(id);
    expect((await troupe('wait', id)).code).toBe(0);
    expect((await troupe('result', id)).stdout).toBe(answer('late'));
  });

  test('in the background waits for a free slot, and journals what a killed server has not', async () => {
    workspace.write('.trouperc.json', '{"maxConcurrent": 1}');
    const first = await run('hang', '-b');
    const second = run('say late', '-b');
    await until('the queued agent', () => store().ids().length > 1);
    const left = { agent_id: idOf(1), daysAgo: 1, isOpen: true };
    const outcome = join(makeUp(workspace.record, left), 'outcome.json');
    utimesSync(outcome, 0, 0);
    await until('the journalled end', () => !store().isOpen(left.agent_id));

    const flags = { workspace: workspace.path, engines: 'rehearsal' };
    const config = await loadConfig(flags, { HOME: workspace.home });
    const host = await createHost(config);
    await host.cancel(first.stdout.trim());
    await host.close();
    const { code, stdout, stderr } = await second;
    expect([code, stderr]).toEqual([0, expect.stringContaining('free slot')]);
    expect((await troupe('wait', stdout.trim())).code).toBe(0);
  });

  test('in the background prints what has started as JSON', async () => {
    const { code, stdout } = await run('say late', '-b', '--json');
    const { agent_id: id, ...rest } = JSON.parse(stdout);
    expect(rest).toMatchObject({ agent_type: 'rehearsal', model: 'script' });
    expect(code).toBe(0);
    await troupe('wait', id);
  });

  test.each([
    ['There is no prompt.', ['run', 'rehearsal', ' ']],
    [
      'is an API and does not work on files',
      ['run', 'grok', 'x', '--cwd', '.']
    ],
    ['is an API and does not work', ['run', 'grok', 'x', '--access', 'read']],
    ['outside the workspace', ['run', 'rehearsal', 'x', '--cwd', '/']]
  ])('is refused: %s', async (message, args) => {
    const { code, stdout, stderr } = await troupe(...args);
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toContain(message);
    expect(store().ids()).toEqual([]);
  });
});

test('continue goes on in the session of an agent', async () => {
  await run('say one');
  const [id = ''] = store().ids();
  const { code, stdout } = await troupe('continue', id, 'say two');
  expect([code, stdout]).toEqual([0, expect.stringContaining('two')]);
  expect(stdout).toContain('turn 2');
  const { code: refused, stderr } = await troupe('continue', '0badbad0', 'x');
  expect([refused, stderr]).toEqual([1, expect.stringContaining('0badbad0')]);
});
