import { join } from 'node:path';
import fc from 'fast-check';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { openOffice } from '../../../../test/kit/agents/worker-office.ts';
import type { NewEvent } from '../../../core/orchestrator/queue/records.ts';
import type { Worker } from '../../../core/orchestrator/queue/worker-store.ts';
import { limitsOf } from './client-limits.ts';
import { eventsAnswer } from './worker-answers.ts';

const id = 'aaaaaaaa';

let worker: Worker;

async function open(): Promise<() => void> {
  const office = await openOffice();
  office.hire(id);
  worker = office.reader().get(id);
  return office.close;
}

beforeEach(async () => {
  onTestFinished(await open());
});

const recordEvents = (...events: NewEvent[]) =>
  worker.log.change(() => ({ events, result: undefined }));

function answer(since_seq = 0, max_events = 200, client = 'other') {
  const query = { agent_id: id, since_seq, max_events };
  const facts = eventsAnswer(worker, query, client);
  const { events, last_seq, more } = facts;
  if (!Array.isArray(events)) throw new Error('no events');
  return { facts, events, last_seq, more };
}

const progress = (length: number): NewEvent => ({
  type: 'progress',
  payload: { text: 'x'.repeat(length) }
});

test('events are returned unchanged, with the number for the next call', async () => {
  await recordEvents(progress(1), progress(2), progress(3));
  expect(answer(1).facts).toEqual({
    agent_id: id,
    source: 'agent',
    events: [
      { seq: 2, at: expect.any(String), ...progress(2) },
      { seq: 3, at: expect.any(String), ...progress(3) }
    ],
    last_seq: 3
  });
});

test('without new events last_seq stays the same, and a number beyond the end is corrected', async () => {
  expect(answer(0)).toMatchObject({ events: [], last_seq: 0 });
  await recordEvents(progress(1), progress(1));
  expect(answer(2).facts).toEqual({ agent_id: id, events: [], last_seq: 2 });
  expect(answer(99).facts).toEqual({ agent_id: id, events: [], last_seq: 2 });
});

test('the number of events is limited, and the answer says that there are more', async () => {
  await recordEvents(progress(1), progress(1), progress(1));
  expect(answer(0, 2)).toMatchObject({ last_seq: 2, more: true });
  expect(answer(0, 3).facts).not.toHaveProperty('more');
});

test('a payload in a file is returned as an absolute path', async () => {
  const payload_file = 'artifacts/payload-1.json';
  await recordEvents({
    type: 'result',
    task_id: 'a',
    done: true,
    payload_file
  });
  expect(answer().events).toMatchObject([
    { done: true, payload_file: join(worker.folder.public, payload_file) }
  ]);
});

describe('an event that is longer than any answer', () => {
  test('is cut, with its length and the path of the file with all events', async () => {
    await recordEvents(progress(1), progress(60_000), progress(1));
    expect(answer(0)).toMatchObject({ last_seq: 1, more: true });
    const { events, last_seq } = answer(1);
    expect(last_seq).toBe(2);
    expect(events).toMatchObject([
      {
        seq: 2,
        type: 'progress',
        payload: expect.any(String),
        truncated: true,
        total_chars: 60_011,
        next_offset: expect.any(Number),
        full_output: worker.folder.paths().outbox
      }
    ]);
  });

  test('keeps as much of both ends of its payload as fits', async () => {
    const text = Array.from({ length: 9000 }, (_, n) => n).join(' ');
    await recordEvents({ type: 'result', payload: { text } });
    const [event] = answer().events;
    const json = JSON.stringify({ text });
    const [head = '', tail = ''] = event.payload.split(/\n\n… \[cut.*\] …\n\n/);
    expect(json.startsWith(head)).toBe(true);
    expect(json.endsWith(tail)).toBe(true);
    expect(event.next_offset).toBe(head.length);
    expect(tail.length).toBeGreaterThan(5000);
    const size = JSON.stringify(answer().facts).length;
    expect(size).toBeGreaterThan(19_000);
    expect(size).toBeLessThanOrEqual(20_000);
  });

  test('is cut between two characters, never within one', async () => {
    await recordEvents({ type: 'progress', payload: '𝒳'.repeat(15_000) });
    expect(JSON.stringify(answer().events)).not.toMatch(/\\ud8/);
  });
});

test('every event reaches every client, whole or cut', async () => {
  const clients = ['claude-code', 'codex-mcp-client', 'copilot', 'gemini', 'x'];
  const lengths = fc.array(
    fc.record({
      length: fc.oneof(
        fc.integer({ min: 0, max: 500 }),
        fc.integer({ min: 0, max: 20_000 })
      ),
      unit: fc.constantFrom('x', 'é', '한', '"', '\n', '𝒳')
    }),
    { minLength: 1, maxLength: 25 }
  );
  await fc.assert(
    fc.asyncProperty(
      lengths,
      fc.constantFrom(...clients),
      fc.integer({ min: 1, max: 30 }),
      async (parts, client, most) => {
        const close = await open();
        try {
          await recordEvents(
            ...parts.map(({ length, unit }) => ({
              type: 'progress',
              payload: unit.repeat(length)
            }))
          );
          const found: unknown[] = [];
          for (let seq = 0, more: unknown = true; more; ) {
            const page = answer(seq, most, client);
            const size = Buffer.byteLength(JSON.stringify(page.facts));
            expect(size).toBeLessThanOrEqual(
              Math.min(20_000, limitsOf(client).answerBytes)
            );
            found.push(...page.events.map(({ seq: number }) => number));
            expect(page.last_seq).toBe(found.length);
            expect(page.events.length).toBeGreaterThan(0);
            seq = found.length;
            more = page.more;
          }
          expect(found).toEqual(parts.map((_, index) => index + 1));
        } finally {
          close();
        }
      }
    ),
    { numRuns: 40 }
  );
});
