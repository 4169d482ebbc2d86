import { afterEach, beforeEach, expect, test } from 'vitest';
import { wasRead } from '../../core/runs/read-mark.ts';
import { RunStore } from '../../core/runs/run-store.ts';
import { idOf, makeUp } from '../../testing/made-up-agents.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../testing/temp-workspace.ts';
import { given } from './given.ts';

let workspace: TempWorkspace;
let store: RunStore;
const { signal } = new AbortController();
const id = idOf(1);

beforeEach(() => {
  workspace = createTempWorkspace();
  store = new RunStore(workspace.record);
});

afterEach(() => workspace.remove());

const isRead = () => wasRead(store.directoryOf(id));

test.each([
  ['its words', { agent_id: id, result: 'x' }, true],
  ['its words in a list', { results: [{ agent_id: id, result: 'x' }] }, true],
  ['an opinion', { opinions: [{ agent_id: id, answer: 'x' }] }, true],
  ['a member', { members: [{ agentId: id, result: '' }] }, true],
  [
    'only how it ended',
    { results: [{ agent_id: id, status: 'failed', error_code: null }] },
    false
  ],
  [
    'a member at work',
    { members: [{ agentId: id, status: 'running', result: '' }] },
    false
  ],
  ['only its name', { still_running: [id], members: [{ agentId: id }] }, false]
])('an answer with %s gives its result: %s', (_, facts, expected) => {
  makeUp(workspace.record, { agent_id: id, daysAgo: 0, bytes: 5 });
  given(facts, { store }, { signal });
  expect(isRead()).toBe(expected);
});

test('of an agent that said nothing, its end is all there is', () => {
  makeUp(workspace.record, { agent_id: id, daysAgo: 0 });
  const row = { agent_id: id, status: 'failed', error_code: 'quota' };
  given({ results: [row] }, { store }, { signal });
  expect(isRead()).toBe(true);
});

test('who no longer wants the answer was given nothing', () => {
  makeUp(workspace.record, { agent_id: id, daysAgo: 0 });
  const facts = { agent_id: id, result: 'x' };
  given(facts, { store }, { signal: AbortSignal.abort() });
  expect(isRead()).toBe(false);
});

test('an agent that has not ended stays unread, whatever an answer says', () => {
  makeUp(workspace.record, { agent_id: id, daysAgo: null });
  given({ agent_id: id, result: 'x' }, { store }, { signal });
  expect(isRead()).toBe(false);
});

test('a folder that takes no mark keeps nobody from answering', () => {
  const facts = { agent_id: id, result: 'x' };
  expect(given(facts, { store }, { signal })).toBe(facts);
});
