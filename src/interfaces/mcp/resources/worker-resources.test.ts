import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../../../test/kit/workspaces/temp-workspace.ts';
import {
  parseEvent,
  type WorkerEvent
} from '../../../core/orchestrator/queue/records.ts';
import { SeqLog } from '../../../core/state/integrity/seq-log.ts';
import { eventContents } from './worker-resources.ts';

const eventSchema = z.looseObject({ seq: z.number() });

let workspace: TempWorkspace;
let path: string;

beforeEach(() => {
  workspace = createTempWorkspace();
  path = join(workspace.path, 'outbox.jsonl');
});

afterEach(() => workspace.remove());

function write(count: number, more: Partial<WorkerEvent> = {}): void {
  const at = '2026-01-01T00:00:00.000Z';
  for (let seq = 1; seq <= count; seq += 1)
    appendFileSync(
      path,
      `${JSON.stringify({ seq, at, type: 'progress', ...more })}\n`
    );
}

function read(tail: number, clientName = '') {
  const uri = 'agent://1a2b3c4d/outbox';
  const request = `${uri}?tail=${tail}`;
  const contents = eventContents(
    { log: new SeqLog(path, parseEvent), directoryOf: () => '/project/w' },
    {
      ref: { kind: 'outbox', uri, id: '1a2b3c4d', tail },
      uri: request,
      clientName
    }
  );
  const [events, ...notes] = contents;
  const text = events?.text ?? '';
  expect(events).toEqual({
    uri: request,
    mimeType: 'application/x-ndjson',
    text
  });
  expect(text === '' || text.endsWith('\n')).toBe(true);
  const lines = text.split('\n').slice(0, -1);
  return {
    text,
    events: lines.map((line) => eventSchema.parse(JSON.parse(line))),
    notes
  };
}

const numbers = (events: { seq: number }[]) => events.map(({ seq }) => seq);

describe('the text of an events resource', () => {
  test('has the newest events, one a line, oldest first', () => {
    write(30);
    const { events, notes } = read(3);
    expect(numbers(events)).toEqual([28, 29, 30]);
    expect(notes).toEqual([]);
  });

  test('is empty without events', () => {
    expect(read(200)).toEqual({ text: '', events: [], notes: [] });
  });

  test('leaves out the oldest events that do not fit, and says so in a second text', () => {
    write(1000, { payload: '火'.repeat(90) });
    const { text, events, notes } = read(1000);
    const [note] = notes;
    expect(text.length + (note?.text.length ?? 0)).toBeLessThanOrEqual(20_000);
    expect(text.length).toBeGreaterThan(18_500);
    expect(numbers(events).at(-1)).toBe(1000);
    expect(numbers(events)).toEqual(
      events.map((_, index) => 1001 - events.length + index)
    );
    expect(notes).toEqual([
      {
        uri: 'agent://1a2b3c4d/outbox',
        mimeType: 'text/plain',
        text: `It does not fit here. events_read returns all events of a worker, page by page; the file is ${path}`
      }
    ]);
  });

  test('has fewer events for a client that would cut it', () => {
    write(1000, { payload: '"火"'.repeat(30) });
    const { text, events, notes } = read(1000, 'codex-mcp-client');
    expect(Buffer.byteLength(JSON.stringify(text))).toBeLessThan(11_500);
    expect(events.length).toBeGreaterThan(10);
    expect(notes).toHaveLength(1);
  });

  test('has the two ends of an event that is too long by itself', () => {
    write(2, { payload: 'x'.repeat(60_000) });
    const { text, events, notes } = read(200);
    expect(text.length).toBeGreaterThan(18_500);
    expect(text.length).toBeLessThanOrEqual(20_000);
    expect(events).toEqual([
      {
        seq: 2,
        at: '2026-01-01T00:00:00.000Z',
        type: 'progress',
        payload: expect.stringMatching(/^"x+\n\n… \[cut.*\] …\n\nx+"$/),
        truncated: true,
        total_chars: 60_002,
        next_offset: expect.any(Number),
        full_output: path
      }
    ]);
    expect(notes).toHaveLength(1);
  });

  test('respects the limit of the client, however the event is escaped', () => {
    write(1, { payload: { text: '"\\\n火'.repeat(20_000) } });
    const { text, events } = read(1, 'codex-mcp-client');
    expect(Buffer.byteLength(JSON.stringify(text))).toBeLessThan(11_500);
    expect(numbers(events)).toEqual([1]);
  });

  test('has the absolute path of a payload file', () => {
    write(1, { payload_file: 'artifacts/payload-1.json' });
    const [event] = read(1).events;
    expect(event?.payload_file).toBe('/project/w/artifacts/payload-1.json');
  });

  test('takes the same time however many long events there are', () => {
    write(1500, { payload: 'x'.repeat(60_000) });
    const began = process.cpuUsage();
    read(1000);
    const { user } = process.cpuUsage(began);
    // All of the last thousand would be 60 MB of JSON.
    const whole = process.cpuUsage();
    new SeqLog(path, parseEvent).tail(1000);
    expect(user).toBeLessThan(process.cpuUsage(whole).user / 4);
  });
});
