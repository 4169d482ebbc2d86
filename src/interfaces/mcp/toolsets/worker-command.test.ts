import { expect, test } from 'vitest';
import type { Task } from '../../../core/orchestrator/queue/task-queue.ts';
import type { CommandResult } from '../../../core/orchestrator/queue/worker-mailbox.ts';
import { commandAnswer, type Payloads } from './worker.ts';

const payloads: Payloads = {
  keepPayload: (text) => `kept-${text.length}.json`,
  pathOf: (file) => `/project/${file}`
};

function resultWith(
  task?: Partial<Task>,
  changes: Partial<CommandResult> = {}
): CommandResult {
  const usual = { deliveries: 0, isRunning: false, isCancelWanted: false };
  return {
    given: task && {
      type: 'task',
      task: { id: 'a', ...usual, ...task },
      redelivered: false
    },
    cursor: 7,
    cancelRequested: false,
    ...changes
  };
}

const answer = (result: CommandResult, client = 'other') =>
  commandAnswer(result, client, payloads);

test('a wait without a command returns timeout and its cursor', () => {
  expect(answer(resultWith())).toEqual({ status: 'timeout', cursor: 7 });
  expect(answer(resultWith(undefined, { cancelRequested: true }))).toEqual({
    status: 'timeout',
    cursor: 7,
    cancel_requested: true
  });
});

test('stop is a command without a task', () => {
  expect(answer(resultWith(undefined, { given: { type: 'stop' } }))).toEqual({
    status: 'command',
    command: { type: 'stop' },
    cursor: 7
  });
});

test.each([{ x: [1, null] }, 'text', 0, false, null])(
  'a task has its payload as it was given: %j',
  (payload) => {
    expect(answer(resultWith({ payload }))).toEqual({
      status: 'command',
      command: { type: 'task', task_id: 'a', payload },
      cursor: 7
    });
  }
);

test('a task without a payload is delivered without one', () => {
  expect(answer(resultWith({}))).toMatchObject({
    command: { type: 'task', task_id: 'a' }
  });
  expect(answer(resultWith({})).command).not.toHaveProperty('payload');
});

test('a redelivered task is marked, and so is a requested cancellation', () => {
  const again = resultWith({ payload: 1 }, { cancelRequested: true });
  const given = again.given && { ...again.given, redelivered: true };
  expect(answer({ ...again, given })).toMatchObject({
    command: { redelivered: true },
    cancel_requested: true
  });
});

test('a payload in a file is delivered as its path', () => {
  expect(
    answer(resultWith({ payloadFile: 'artifacts/p.json' })).command
  ).toEqual({
    type: 'task',
    task_id: 'a',
    payload_file: '/project/artifacts/p.json'
  });
});

test.each([
  ['other', 'x', 19_000, false],
  ['other', 'x', 21_000, true],
  // This client shows 11,500 bytes.
  ['codex-mcp-client', 'x', 11_000, false],
  ['codex-mcp-client', 'x', 12_000, true],
  ['codex-mcp-client', '한', 5000, true]
])(
  '%s gets %s times %i, in a file if the client would cut it',
  (client, unit, length, isFile) => {
    const payload = unit.repeat(length);
    const { command } = answer(resultWith({ payload }), client);
    expect(command).toEqual({
      type: 'task',
      task_id: 'a',
      ...(isFile
        ? { payload_file: `/project/kept-${length + 2}.json` }
        : { payload })
    });
  }
);
