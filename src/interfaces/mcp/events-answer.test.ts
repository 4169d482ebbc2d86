import { join } from 'node:path';
import fc from 'fast-check';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import type { NewEvent } from '../../core/orchestrator/records.ts';
import type { Worker } from '../../core/orchestrator/worker-store.ts';
import { openOffice } from '../../testing/worker-office.ts';
import { limitsOf } from './clients.ts';
import { eventsAnswer } from './events-answer.ts';

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

const happened = (...events: NewEvent[]) =>
  worker.log.change(() => ({ events, told: undefined }));

function answer(since_seq = 0, max_events = 200, client = 'other') {
  const asked = { agent_id: id, since_seq, max_events };
  const told = eventsAnswer(worker, asked, client);
  const { events, last_seq, more } = told;
  if (!Array.isArray(events)) throw new Error('no events');
  return { told, events, last_seq, more };
}

const of = (length: number): NewEvent => ({
  type: 'progress',
  payload: { text: 'x'.repeat(length) }
});

test('events come as they are, with the number to ask with next', async () => {
  await happened(of(1), of(2), of(3));
  expect(answer(1).told).toEqual({
    agent_id: id,
    source: 'agent',
    events: [
      { seq: 2, at: expect.any(String), ...of(2) },
      { seq: 3, at: expect.any(String), ...of(3) }
    ],
    last_seq: 3
  });
});

test('where nothing is new, the number stays, and one beyond the end comes back', async () => {
  expect(answer(0)).toMatchObject({ events: [], last_seq: 0 });
  await happened(of(1), of(1));
  expect(answer(2).told).toEqual({ agent_id: id, events: [], last_seq: 2 });
  expect(answer(99).told).toEqual({ agent_id: id, events: [], last_seq: 2 });
});

test('no more come than are asked for, and it is said that there are', async () => {
  await happened(of(1), of(1), of(1));
  expect(answer(0, 2)).toMatchObject({ last_seq: 2, more: true });
  expect(answer(0, 3).told).not.toHaveProperty('more');
});

test('a payload in a file comes with its path', async () => {
  const payload_file = 'artifacts/payload-1.json';
  await happened({ type: 'result', task_id: 'a', done: true, payload_file });
  expect(answer().events).toMatchObject([
    { done: true, payload_file: join(worker.folder.public, payload_file) }
  ]);
});

describe('an event that is too long for any answer', () => {
  test('is cut, and says how long it is and where all of it is', async () => {
    await happened(of(1), of(60_000), of(1));
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
        full_output: worker.folder.outbox
      }
    ]);
  });

  test('has the beginning and the end of its payload, as much as fits', async () => {
    const text = Array.from({ length: 9000 }, (_, n) => n).join(' ');
    await happened({ type: 'result', payload: { text } });
    const [event] = answer().events;
    const json = JSON.stringify({ text });
    const [head = '', tail = ''] = event.payload.split(/\n\n… \[cut.*\] …\n\n/);
    expect(json.startsWith(head)).toBe(true);
    expect(json.endsWith(tail)).toBe(true);
    expect(event.next_offset).toBe(head.length);
    expect(tail.length).toBeGreaterThan(5000);
    const size = JSON.stringify(answer().told).length;
    expect(size).toBeGreaterThan(19_000);
    expect(size).toBeLessThanOrEqual(20_000);
  });

  test('is cut between two characters', async () => {
    await happened({ type: 'progress', payload: '𝒳'.repeat(15_000) });
    expect(JSON.stringify(answer().events)).not.toMatch(/\\ud8/);
  });
});

test('all events come, whole or cut, in answers that every client takes', async () => {
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
          await happened(
            ...parts.map(({ length, unit }) => ({
              type: 'progress',
              payload: unit.repeat(length)
            }))
          );
          const found: unknown[] = [];
          for (let seq = 0, more: unknown = true; more; ) {
            const given = answer(seq, most, client);
            const size = Buffer.byteLength(JSON.stringify(given.told));
            expect(size).toBeLessThanOrEqual(
              Math.min(20_000, limitsOf(client).answerBytes)
            );
            found.push(...given.events.map(({ seq: number }) => number));
            expect(given.last_seq).toBe(found.length);
            expect(given.events.length).toBeGreaterThan(0);
            seq = found.length;
            more = given.more;
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
