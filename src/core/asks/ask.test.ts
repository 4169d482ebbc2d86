import { expect, test } from 'vitest';
import { parseAnswer, parseAsk } from './ask.ts';

const at = '2026-11-26T10:00:00.000Z';
const ask = {
  v: 1,
  ...{ ask_id: '1a2b3c4d-1', agent_id: '1a2b3c4d', kind: 'permission' },
  ...{ tool: 'Bash', subject: { command: 'make' }, needs: 'full' },
  ...{ asked_at: at, expires_at: at },
  bridge: { pid: 3, start: '4', place: 'here' }
};
const answer = { v: 1, decision: 'allow', text: null, by: 'person', at };

test('a valid ask and a valid answer are read as they are', () => {
  const question = { ...ask, kind: 'question', options: ['a'], reason: 'b' };
  for (const one of [ask, question])
    expect(parseAsk(JSON.stringify(one))).toEqual(one);
  const named = { ...answer, who: 'a client', text: 'why', decision: null };
  for (const one of [answer, named])
    expect(parseAnswer(JSON.stringify(one))).toEqual(one);
});

test.each([
  ['v', 2],
  ['ask_id', 1],
  ['kind', 'order'],
  ['tool', null],
  ['subject', 'make'],
  ['subject', { command: 1 }],
  ['options', 'a'],
  ['options', [1]],
  ['reason', 1],
  ['needs', 'read'],
  ['asked_at', 'today'],
  ['expires_at', '2026-13-45T10:00:00Z'],
  ['bridge', null],
  ['bridge', { pid: 0, start: '', place: '' }],
  ['bridge', { pid: 1.5, start: '', place: '' }]
])('an ask whose %s is %j is none', (field, value) => {
  expect(parseAsk(JSON.stringify({ ...ask, [field]: value }))).toBeUndefined();
});

test.each([
  ['v', undefined],
  ['decision', 'maybe'],
  ['text', 1],
  ['by', 'anyone'],
  ['who', 1],
  ['at', 'now']
])('an answer whose %s is %j is none', (field, value) => {
  const text = JSON.stringify({ ...answer, [field]: value });
  expect(parseAnswer(text)).toBeUndefined();
});

test.each(['', 'null', '[]', '{"v":1', '"ask"'])(
  'the text %j is neither',
  (text) => {
    expect(parseAsk(text)).toBeUndefined();
    expect(parseAnswer(text)).toBeUndefined();
  }
);
