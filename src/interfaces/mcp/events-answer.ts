import { join } from 'node:path';
import type { WorkerEvent } from '../../core/orchestrator/records.ts';
import type { Worker } from '../../core/orchestrator/worker-store.ts';
import type { Facts } from '../../core/runs/fit.ts';
import { inlineChars } from '../../core/runs/report.ts';
import { limitsOf } from './clients.ts';

interface Asked {
  agent_id: string;
  since_seq: number;
  max_events: number;
}

/** For what is around the events in an answer. */
const frameChars = 300;
/** Of a payload that has no room at all. */
const headChars = 1000;

/**
 * Events after a number, whole, as many as the client takes; an event that is
 * too long by itself has its payload cut, and says where all of it is.
 */
export function eventsAnswer(
  { folder, log }: Worker,
  { agent_id, since_seq, max_events }: Asked,
  clientName: string
): Facts {
  const { answerBytes } = limitsOf(clientName);
  // In the worst case each character is four bytes, which is rare.
  const chars = Math.min(inlineChars, answerBytes) - frameChars;
  const delta = log.outbox.since(since_seq, { entries: max_events, chars });
  const events: Facts[] = [];
  let more = delta.more;
  let room = Math.min(inlineChars, answerBytes) - frameChars;
  for (const event of delta.entries) {
    const whole = shown(event, folder.public);
    const size = Buffer.byteLength(JSON.stringify(whole)) + 1;
    if (size > room && events.length > 0) {
      more = true;
      break;
    }
    events.push(size > room ? cut(whole, folder.outbox) : whole);
    room -= size;
  }
  const last = delta.entries[events.length - 1]?.seq;
  const last_seq = last ?? Math.min(since_seq, log.outbox.lastSeq());
  return { agent_id, events, last_seq, ...(more ? { more } : {}) };
}

/** With the path under which a payload's file is found. */
export function shown(event: WorkerEvent, directory: string): Facts {
  const { payload_file: file, ...rest } = event;
  return file === undefined
    ? { ...rest }
    : { ...rest, payload_file: join(directory, file) };
}

/** One that is too long by itself. */
export function cut({ payload, ...rest }: Facts, outbox: string): Facts {
  const text = JSON.stringify(payload) ?? '';
  return {
    ...rest,
    payload: text.slice(0, headChars).replace(/[\ud800-\udbff]$/, ''),
    truncated: true,
    total_chars: text.length,
    full_output: outbox
  };
}
