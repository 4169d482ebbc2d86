import { expect, test } from 'vitest';
import type { Task } from '../../core/orchestrator/task-queue.ts';
import type { Heard } from '../../core/orchestrator/worker-desk.ts';
import { commandAnswer, type Payloads } from './command-answer.ts';

const payloads: Payloads = {
  keepPayload: (text) => `kept-${text.length}.json`,
  pathOf: (file) => `/project/${file}`
};

function heard(task?: Partial<Task>, changes: Partial<Heard> = {}): Heard {
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

const answer = (what: Heard, client = 'other') =>
  commandAnswer(what, client, payloads);

test('a wait that brought nothing says so, and how far it looked', () => {
  expect(answer(heard())).toEqual({ status: 'timeout', cursor: 7 });
  expect(answer(heard(undefined, { cancelRequested: true }))).toEqual({
    status: 'timeout',
    cursor: 7,
    cancel_requested: true
  });
});

test('a stop is a command of its own', () => {
  expect(answer(heard(undefined, { given: { type: 'stop' } }))).toEqual({
    status: 'command',
    command: { type: 'stop' },
    cursor: 7
  });
});

test.each([{ x: [1, null] }, 'text', 0, false, null])(
  'a task has its payload as it was given: %j',
  (payload) => {
    expect(answer(heard({ payload }))).toEqual({
      status: 'command',
      command: { type: 'task', task_id: 'a', payload },
      cursor: 7
    });
  }
);

test('a task without a payload has none', () => {
  expect(answer(heard({}))).toMatchObject({
    command: { type: 'task', task_id: 'a' }
  });
  expect(answer(heard({})).command).not.toHaveProperty('payload');
});

test('a task that is given again says so, and that it is to be canceled', () => {
  const again = heard({ payload: 1 }, { cancelRequested: true });
  const given = again.given && { ...again.given, redelivered: true };
  expect(answer({ ...again, given })).toMatchObject({
    command: { redelivered: true },
    cancel_requested: true
  });
});

test('a payload in a file comes as its path', () => {
  expect(answer(heard({ payloadFile: 'artifacts/p.json' })).command).toEqual({
    type: 'task',
    task_id: 'a',
    payload_file: '/project/artifacts/p.json'
  });
});

test.each([
  ['other', 'x', 19_000, false],
  ['other', 'x', 21_000, true],
  // 11,500 bytes is what it passes on.
  ['codex-mcp-client', 'x', 11_000, false],
  ['codex-mcp-client', 'x', 12_000, true],
  ['codex-mcp-client', '한', 5000, true]
])(
  '%s is given %s times %i, and a file where it would be cut',
  (client, unit, length, isFile) => {
    const payload = unit.repeat(length);
    const { command } = answer(heard({ payload }), client);
    expect(command).toEqual({
      type: 'task',
      task_id: 'a',
      ...(isFile
        ? { payload_file: `/project/kept-${length + 2}.json` }
        : { payload })
    });
  }
);
