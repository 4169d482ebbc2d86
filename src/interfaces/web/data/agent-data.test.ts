import { rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import {
  idOf,
  type MadeUp,
  makeUp
} from '../../../../test/kit/agents/made-up-agents.ts';
import { hostHere } from '../../../../test/kit/servers/host-here.ts';
import { recordWith } from '../../../../test/kit/servers/run-facts.ts';
import type { TempWorkspace } from '../../../../test/kit/workspaces/temp-workspace.ts';
import { wasRead } from '../../../core/runs/run-files.ts';
import type { Host } from '../../../host/host.ts';
import {
  agentData,
  markRead,
  runOf,
  stepsOf,
  textOf,
  whyNoAlike
} from './agent-data.ts';

let workspace: TempWorkspace;
let host: Host;

beforeEach(async () => {
  ({ workspace, host } = await hostHere());
});

const id = idOf(0x11111111);
const other = idOf(0x22222222);

function agent(made: Partial<MadeUp> = {}): string {
  const all = { agent_id: id, daysAgo: 1, isOpen: true, ...made };
  return makeUp(workspace.record, all);
}

describe('the data of an agent', () => {
  test('has every fact of its record and its end', async () => {
    agent({
      ...{ task: 'look', prompt_chars: 4, cwd: '/w', tools: 'say, sleep' },
      ...{ system_prompt: 'be brief', timeout_seconds: 9, depth: 2 },
      worktree: { path: '/t', branch: 'b', base: 'c', origin: '/o' },
      text: 'fine',
      outcome: {
        ...{ status: 'failed', error: 'It broke.', exit_code: 3 },
        ...{ session_id: 's-1', denials: ['rm'], result_chars: 4 },
        started_at: '2026-01-01T00:00:00.500Z'
      }
    });
    expect(await agentData(host, id)).toMatchObject({
      ...{ agent_id: id, label: 'Claude', enforcement: 'enforced' },
      ...{ tools: 'say, sleep', cwd: '/w', prompt_chars: 4, depth: 2 },
      worktree: { path: '/t', branch: 'b' },
      ...{ system_prompt: 'be brief', timeout_seconds: 9 },
      ...{ error: 'It broke.', exit_code: 3, session_id: 's-1' },
      ...{ denials: ['rm'], answer_chars: 4, is_read: false },
      started_at: '2026-01-01T00:00:00.500Z',
      ...{ changes: null, relatives: [], asks: [] },
      ...{ stdout_bytes: 0, stderr_bytes: 0 }
    });
  });

  test('has null for what the agent has not', async () => {
    agent({ text: '' });
    expect(await agentData(host, id)).toMatchObject({
      ...{ tools: null, worktree: null, system_prompt: null },
      ...{ error: null, session_id: null }
    });
  });

  test('has no facts of an end before the end', async () => {
    agent({ daysAgo: null });
    const data = await agentData(host, id);
    expect(data).toMatchObject({ status: 'queued', is_read: false });
    expect(data).not.toHaveProperty('exit_code');
  });

  test('shows no control characters of an agent, and no more than the beginning of a long text', async () => {
    agent({
      tools: `\u001b[31m${'t'.repeat(30_000)}`,
      outcome: { denials: Array.from({ length: 101 }, () => 'no\u0007') }
    });
    const { tools, denials } = Object(await agentData(host, id));
    expect(tools.length).toBeLessThanOrEqual(20_010);
    expect(tools).not.toContain('\u001b');
    expect(denials).toHaveLength(100);
    expect(denials[0]).not.toContain('\u0007');
  });

  test('has the sizes of its output', async () => {
    const directory = agent();
    writeFileSync(join(directory, 'stdout'), 'ab');
    writeFileSync(join(directory, 'stderr'), 'abc');
    expect(await agentData(host, id)).toMatchObject({
      ...{ stdout_bytes: 2, stderr_bytes: 3 }
    });
  });

  test('has its changed files with the size of the patch', async () => {
    const directory = agent({ patch: 'a patch' });
    expect((await agentData(host, id)).changes).toEqual({
      ...{ files: [], total: 1, note: null, patch_bytes: 7 }
    });
    const changes = {
      ...{ v: 1, patch: null, note: 'No git.' },
      files: [{ path: 'a\u0007', added: 1, removed: null }]
    };
    writeFileSync(join(directory, 'changes.json'), JSON.stringify(changes));
    const { files, ...rest } = Object((await agentData(host, id)).changes);
    expect(rest).toEqual({ total: null, note: 'No git.', patch_bytes: 0 });
    expect(files).toEqual([
      { path: expect.not.stringContaining('\u0007'), added: 1, removed: null }
    ]);
  });

  test('of an unknown agent is an error', async () => {
    await expect(agentData(host, id)).rejects.toMatchObject({
      code: 'unknown_agent'
    });
    await expect(runOf(host, id)).rejects.toThrow(id);
  });
});

describe('the relatives of an agent', () => {
  const relation = async () =>
    (await agentData(host, id)).relatives.map((one) => [
      one.relation,
      one.agent_id,
      one.task
    ]);

  test.each([
    ['parent', { parent: other }, {}],
    ['continues', { continues: other }, {}],
    ['child', {}, { parent: id }],
    ['continued_by', {}, { continues: id }]
  ])('have a %s', async (name, of, otherOf) => {
    agent(of);
    agent({ agent_id: other, task: 'the\nother', ...otherOf });
    expect(await relation()).toEqual([[name, other, 'the other']]);
  });

  test('include no agent without a relation, no removed one, and not the agent itself', async () => {
    agent({ parent: id, continues: idOf(0x33333333) });
    agent({ agent_id: other });
    expect(await relation()).toEqual([]);
  });

  test('are a hundred at most', async () => {
    agent();
    for (let n = 1; n <= 101; n += 1) agent({ agent_id: idOf(n), parent: id });
    expect(await relation()).toHaveLength(100);
  });
});

describe('another prompt', () => {
  const refusal = async (made: Partial<MadeUp>) => {
    agent(made);
    return (await agentData(host, id)).continue_refusal;
  };
  const outcome = { session_id: 's-1' };

  test.each<[string, string | null, Partial<MadeUp>]>([
    ['an agent with a session', null, { outcome }],
    ['one without a session', 'It left no session to continue.', {}],
    ['one that is queued', 'It is queued.', { daysAgo: null }],
    [
      'one from a template',
      'It came from a template.',
      { outcome, template: 't' }
    ],
    [
      'one of another engine',
      'The engine codex is not configured.',
      { outcome, engine: 'codex' }
    ]
  ])('of %s: %s', async (_, expected, made) => {
    expect(await refusal(made)).toBe(expected);
  });

  test('goes to no new agent that is like one of the squads', () => {
    expect(whyNoAlike(recordWith())).toBeNull();
    expect(whyNoAlike(recordWith({ template: 't' }))).toBe(
      'It came from a template.'
    );
    expect(whyNoAlike(recordWith({ program: 'p' }))).toBe(
      'It ran a program of the squads.'
    );
  });
});

describe('a text of an agent', () => {
  test.each([
    ['prompt', 'the task'],
    ['answer', 'the answer'],
    ['stdout', 'out'],
    ['stderr', 'err'],
    ['patch', 'diff']
  ] as const)('is its %s', async (part, text) => {
    const made = { task: 'the task', text: 'the answer', patch: 'diff' };
    const directory = agent(made);
    writeFileSync(join(directory, 'stdout'), 'out');
    writeFileSync(join(directory, 'stderr'), 'err');
    const all = { offset: 0, next_offset: null, total_bytes: text.length };
    expect(await textOf(host, id, part, 0)).toEqual({ ...all, text });
    expect((await textOf(host, id, part, 1)).text).toBe(text.slice(1));
  });

  test('has control characters only when it is exact', async () => {
    agent({ text: 'a\u0007' });
    expect((await textOf(host, id, 'answer', 0)).text).not.toContain('\u0007');
    expect((await textOf(host, id, 'answer', 0, true)).text).toBe('a\u0007');
  });

  test('is empty without a file, and an error for the answer of an agent at work', async () => {
    const none = { text: '', offset: 0, next_offset: null, total_bytes: 0 };
    agent({ daysAgo: null });
    expect(await textOf(host, id, 'stdout', 0)).toEqual(none);
    await expect(textOf(host, id, 'answer', 0)).rejects.toMatchObject({
      code: 'invalid_input'
    });
    rmSync(join(agent({ agent_id: other }), 'result.txt'));
    expect(await textOf(host, other, 'answer', 0)).toEqual(none);
  });
});

test('the steps of an agent are short, and missing when its output is too long to read again', async () => {
  const directory = agent();
  const step = { type: 'progress', text: 's'.repeat(600) };
  const stdout = join(directory, 'stdout');
  writeFileSync(stdout, `${JSON.stringify(step)}\n`);
  const { steps, dropped } = await stepsOf(host, id);
  expect([steps?.length, dropped]).toEqual([1, 0]);
  expect(steps?.[0]).toBe(`${'s'.repeat(500)}…`);
  truncateSync(stdout, 16 * 1024 * 1024);
  expect((await stepsOf(host, id)).steps).toHaveLength(1);
  truncateSync(stdout, 16 * 1024 * 1024 + 1);
  expect(await stepsOf(host, id)).toEqual({ steps: null, dropped: 0 });
});

test('only an agent that has ended can be marked as read', async () => {
  const directory = agent({ daysAgo: null });
  const mark = { agent_id: id, is_read: false };
  expect(await markRead(host, id)).toEqual(mark);
  expect(wasRead(directory)).toBe(false);
  agent({ agent_id: other });
  expect(await markRead(host, other)).toEqual({
    agent_id: other,
    is_read: true
  });
  expect(wasRead(host.store.directoryOf(other))).toBe(true);
  expect((await agentData(host, other)).is_read).toBe(true);
});
