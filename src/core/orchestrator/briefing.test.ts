import { expect, test } from 'vitest';
import { briefing } from './briefing.ts';
import { terminalTypes } from './records.ts';
import { checkType } from './worker-event.ts';

const facts = {
  agentId: 'aaaaaaaa',
  name: 'Tester',
  role: 'You test.\n  Indented $& {{x}}.',
  artifacts: '/project/.agents/agents/aaaaaaaa/artifacts',
  heartbeatSeconds: 45,
  waitMs: 30_000
};
const text = briefing(facts);

test('a worker is told who it is, its whole brief and where its files go', () => {
  for (const word of ['"Tester"', 'aaaaaaaa', facts.role, facts.artifacts])
    expect(text).toContain(word);
  expect(text).toContain('at least every 45 seconds');
  expect(text).toContain('wait_for_command {"timeout_ms": 30000}');
});

test('every event it is shown would be taken, and all that end a task are', () => {
  const shown = [...text.matchAll(/emit_event \{"type": "(\w+)"(.*)\}/g)];
  const events = shown.map(([, type = '', rest = '']) => ({
    type,
    ...(rest.includes('"done": true') ? { done: true } : {})
  }));
  expect(events.map(({ type }) => type)).toEqual([
    'ack',
    ...terminalTypes,
    'progress'
  ]);
  for (const event of events) expect(() => checkType(event)).not.toThrow();
});
