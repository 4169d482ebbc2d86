import { afterEach, beforeEach, expect, test } from 'vitest';
import { idOf, makeUp } from '../../../../test/kit/agents/made-up-agents.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../../../test/kit/workspaces/temp-workspace.ts';
import { wasRead } from '../../../core/runs/run-files.ts';
import { RunStore } from '../../../core/runs/run-store.ts';
import { markRead } from './mark-read.ts';

let workspace: TempWorkspace;
let store: RunStore;
const afterAnswer = (work: () => unknown) => void work();
const id = idOf(1);

beforeEach(() => {
  workspace = createTempWorkspace();
  store = new RunStore(workspace.record);
});

afterEach(() => workspace.remove());

const isRead = () => wasRead(store.directoryOf(id));

test.each([
  ['the output of an agent', { agent_id: id, result: 'x' }, true],
  ['the output in a list', { results: [{ agent_id: id, result: 'x' }] }, true],
  ['an opinion', { opinions: [{ agent_id: id, answer: 'x' }] }, true],
  ['a member', { members: [{ agentId: id, result: '' }] }, true],
  [
    'only the status',
    { results: [{ agent_id: id, status: 'failed', error_code: null }] },
    false
  ],
  [
    'a running member',
    { members: [{ agentId: id, status: 'running', result: '' }] },
    false
  ],
  ['only the id', { still_running: [id], members: [{ agentId: id }] }, false]
])('an answer with %s marks the agent as read: %s', (_, facts, expected) => {
  makeUp(workspace.record, { agent_id: id, daysAgo: 0, bytes: 5 });
  markRead(facts, { store }, { afterAnswer });
  expect(isRead()).toBe(expected);
});

test('the status of an agent without output marks it as read', () => {
  makeUp(workspace.record, { agent_id: id, daysAgo: 0 });
  const row = { agent_id: id, status: 'failed', error_code: 'quota' };
  markRead({ results: [row] }, { store }, { afterAnswer });
  expect(isRead()).toBe(true);
});

test('a result that was cut marks the agent as read only if it is alone', () => {
  makeUp(workspace.record, { agent_id: id, daysAgo: 0, bytes: 5 });
  const cut = { agent_id: id, result: 'x', next_offset: 1 };
  const results = [cut, { agent_id: idOf(2), result: 'x' }];
  markRead({ results }, { store }, { afterAnswer });
  expect(isRead()).toBe(false);
  markRead({ results: [cut] }, { store }, { afterAnswer });
  expect(isRead()).toBe(true);
});

test('the status of an agent with output leaves it unread', () => {
  makeUp(workspace.record, {
    agent_id: id,
    daysAgo: 0,
    bytes: 5,
    outcome: { status: 'failed', error: 'x', error_code: 'quota' }
  });
  const row = { agent_id: id, status: 'failed', error_code: 'quota' };
  markRead({ results: [row] }, { store }, { afterAnswer });
  expect(isRead()).toBe(false);
});

test('an agent stays unread until the client has received the answer', () => {
  makeUp(workspace.record, { agent_id: id, daysAgo: 0 });
  const facts = { agent_id: id, result: 'x' };
  const callbacks: (() => unknown)[] = [];
  markRead(facts, { store }, { afterAnswer: (work) => callbacks.push(work) });
  expect(isRead()).toBe(false);
  for (const work of callbacks) work();
  expect(isRead()).toBe(true);
});

test('an active agent stays unread, whatever the answer contains', () => {
  makeUp(workspace.record, { agent_id: id, daysAgo: null });
  markRead({ agent_id: id, result: 'x' }, { store }, { afterAnswer });
  expect(isRead()).toBe(false);
});

test('a missing folder does not prevent the answer', () => {
  const facts = { agent_id: id, result: 'x' };
  expect(markRead(facts, { store }, { afterAnswer })).toBe(facts);
});
