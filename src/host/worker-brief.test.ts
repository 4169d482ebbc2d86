import { expect, test } from 'vitest';
import { terminalTypes } from '../core/orchestrator/queue/records.ts';
import { checkType } from '../core/orchestrator/queue/worker-mailbox.ts';
import { briefing } from './worker-brief.ts';

const facts = {
  agentId: 'aaaaaaaa',
  name: 'Tester',
  role: 'You test.\n  Indented $& {{x}}.',
  artifacts: '/project/.agents/agents/aaaaaaaa/artifacts',
  heartbeatSeconds: 45,
  waitMs: 30_000
};
const text = briefing(facts);

test('the briefing contains name, id, role and artifacts directory', () => {
  for (const word of ['"Tester"', 'aaaaaaaa', facts.role, facts.artifacts])
    expect(text).toContain(word);
  expect(text).toContain('at least every 45 seconds');
  expect(text).toContain('wait_for_command {"timeout_ms": 30000}');
});

test('every event in the briefing is valid, and each terminal type is shown', () => {
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
