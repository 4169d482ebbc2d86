import fc from 'fast-check';
import type { JournalEvent } from '../../../src/core/audit/journal/journal-record.ts';
import { agentId, endOf, spawnOf } from '../servers/logged-agents.ts';

/** An agent that no other record speaks of. */
export const spoiltAgent = 0xdead;

const id = agentId(spoiltAgent);
const noon = '2026-11-21T12:00:00.000Z';
const chain = { writer: '0badf00d', n: 0, prev: '0'.repeat(64), at: noon };

const events: JournalEvent[] = [
  {
    ...spawnOf(spoiltAgent),
    command: 'claude',
    template: '/workspace/run.template',
    squad: { squadId: 's1', memberId: 'm1', roleId: 'developer' }
  },
  endOf(spoiltAgent),
  { type: 'cancel_requested', agent_id: id, reason: 'enough' },
  { type: 'cleaned', agent_id: id, bytes: 12, completed_at: noon }
];

/** What stands where something else belongs; undefined where nothing does. */
const wrong = fc.oneof(
  fc.constantFrom<unknown>(
    ...[undefined, null, true, 0, -1, 1e21, 0.5, '', 'x', '__proto__'],
    ...['2026-13-45T99:99:99.999Z', '../../../etc/passwd', [], {}],
    ...['spawns/0000dead/..', { chars: 1, path: 7 }, { text: 'x' }]
  ),
  fc.jsonValue()
);

/** The places in a value, as the names on the way. */
function placesIn(value: unknown): string[][] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, inner]) => [
    [name],
    ...placesIn(inner).map((place) => [name, ...place])
  ]);
}

function put(value: unknown, place: string[], wrong: unknown): unknown {
  const [name, ...rest] = place;
  if (name === undefined) return wrong;
  const fields: object = typeof value === 'object' && value ? value : {};
  return { ...fields, [name]: put(Reflect.get(fields, name), rest, wrong) };
}

/** A line of the journal in which up to three things are not as they should. */
export const spoiltLine: fc.Arbitrary<string> = fc
  .constantFrom(...events.map((event) => ({ ...chain, ...event })))
  .chain((record) =>
    fc
      .array(fc.tuple(fc.constantFrom(...placesIn(record)), wrong), {
        minLength: 1,
        maxLength: 3
      })
      .map((changes) =>
        JSON.stringify(
          changes.reduce<unknown>(
            (changed, [place, value]) => put(changed, place, value),
            record
          )
        )
      )
  );
