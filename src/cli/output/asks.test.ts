import { expect, test } from 'vitest';
import { recordWith } from '../../../test/kit/servers/run-facts.ts';
import type { Ask } from '../../core/asks/ask.ts';
import { describeAsk } from './asks.ts';

const ask: Ask = {
  ...{ v: 1, ask_id: '0badcafe-1', agent_id: '0badcafe', needs: 'full' },
  ...{ kind: 'permission', tool: 'Bash', subject: { command: 'ls\nrm x' } },
  asked_at: new Date().toISOString(),
  expires_at: '2030-01-01T00:00:00.000Z',
  bridge: { pid: 1, start: '', place: '' }
};

/** The lines of an ask below its head. */
function linesOf(changes: Partial<Ask>): string[] {
  const record = recordWith();
  const lines = describeAsk({ ask: { ...ask, ...changes }, record }).split(
    '\n'
  );
  expect(lines[0]).toMatch(/^0badcafe-1 {2}Claude, .*, Bash, 0/);
  return lines.slice(1);
}

test('an ask has its subject, its reason and the command that answers it', () => {
  expect(linesOf({ reason: 'It is\nold.' })).toEqual([
    '  ls',
    '  rm x',
    '  reason: It is old.',
    '  troupe answer 0badcafe-1 allow|deny'
  ]);
});

test('an ask without a reason has no line for it', () => {
  expect(linesOf({ kind: 'question', options: ['yes', 'no'] })).toEqual([
    '  ls',
    '  rm x',
    '  - yes',
    '  - no',
    '  troupe answer 0badcafe-1 "text"'
  ]);
});
