import { join } from 'node:path';
import type { WorkerEvent } from '../../core/orchestrator/records.ts';
import type { Worker } from '../../core/orchestrator/worker-store.ts';
import { type Facts, sizeOf } from '../../core/runs/fit.ts';
import { endsPart } from '../../core/runs/parts.ts';
import { inlineChars } from '../../core/runs/report.ts';
import { ofAgent } from '../../core/runs/words.ts';
import { limitsOf } from './clients.ts';

interface Asked {
  agent_id: string;
  since_seq: number;
  max_events: number;
}

/** For what is around the events in an answer. */
const frameChars = 300;
/** For the name of a payload that is cut, and a comma. */
const nameChars = 12;

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
    events.push(size > room ? cut(whole, folder.outbox, room) : whole);
    room -= size;
  }
  const last = delta.entries[events.length - 1]?.seq;
  const last_seq = last ?? Math.min(since_seq, log.outbox.lastSeq());
  const source = events.length > 0 ? ofAgent : {};
  return { agent_id, ...source, events, last_seq, ...(more ? { more } : {}) };
}

/** With the path under which a payload's file is found. */
export function shown(event: WorkerEvent, directory: string): Facts {
  const { payload_file: file, ...rest } = event;
  return file === undefined
    ? { ...rest }
    : { ...rest, payload_file: join(directory, file) };
}

/**
 * One that is too long by itself: its payload is a text, the two ends of the
 * payload's JSON. The event takes no more than `room` bytes of JSON then.
 */
export function cut(
  { payload, ...rest }: Facts,
  outbox: string,
  room: number
): Facts {
  const json = JSON.stringify(payload) ?? '';
  const ends = { head: json, tail: '', totalChars: json.length };
  const part = endsPart('payload', ends, {
    mark: '\n\n… [cut: full_output has the whole event] …\n\n',
    tell: ({ next, total }) => ({
      truncated: true,
      total_chars: total,
      next_offset: next,
      full_output: outbox
    })
  });
  const left = room - sizeOf(rest) - nameChars;
  return { ...rest, ...part.within({ chars: left, bytes: left }) };
}
