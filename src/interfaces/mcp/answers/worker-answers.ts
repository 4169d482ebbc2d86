import { join } from 'node:path';
import { countWithin, type Facts, sizeOf } from '../../../answers/budget.ts';
import { inlineChars } from '../../../answers/format-run.ts';
import { cutWithFile, ofAgent } from '../../../answers/read-output.ts';
import { endsPart, listPart } from '../../../answers/truncate.ts';
import type { WorkerEvent } from '../../../core/orchestrator/queue/records.ts';
import type { Worker } from '../../../core/orchestrator/queue/worker-store.ts';
import { fitAnswer, fits, limitsOf } from './client-limits.ts';

/** Characters of a brief in a list. */
const lineChars = 80;
/** Characters of a brief in an answer about one worker. */
const roleChars = 2000;
/** Bytes of JSON for the ids of waiting tasks; the first ids that fit. */
const tasksBytes = 3000;

/**
 * A worker as clients see it.
 * @param short for a list: few facts, and one line of the role
 */
export function workerFacts(
  { meta, log, folder }: Worker,
  short = false
): Facts {
  const queue = log.read();
  const { running } = queue;
  const facts = {
    agent_id: meta.agent_id,
    name: meta.name,
    role: short ? beginning(meta.role) : upTo(roleChars, meta.role),
    engine: meta.engine,
    status: queue.status,
    tmux_pane_id: queue.isOver ? null : (meta.pane?.pane_id ?? null),
    queue_depth: queue.depth,
    running_task_id: running?.id ?? null,
    last_event_seq: queue.state.eventSeq,
    run_id: meta.run_id
  };
  if (short) return facts;
  const waiting = queue.tasks
    .filter((task) => task !== running)
    .map(({ id }) => id);
  const budget = { chars: Number.POSITIVE_INFINITY, bytes: tasksBytes };
  return {
    ...facts,
    ...(meta.role.length > roleChars
      ? {
          truncated: true,
          total_chars: meta.role.length,
          full_output: folder.paths().meta
        }
      : {}),
    ...(running?.isCancelWanted ? { cancel_requested: true } : {}),
    ...(queue.state.stopAfter === null ? {} : { stop_requested: true }),
    model: meta.model,
    access: meta.access,
    cwd: meta.cwd,
    backend: meta.backend,
    created_at: meta.created_at,
    restarts: queue.state.generation - 1,
    queued_task_ids: waiting.slice(0, countWithin(waiting, budget)),
    paths: folder.paths()
  };
}

function beginning(text: string): string {
  const [line = ''] = text.trim().split('\n');
  return line.length > lineChars ? `${upTo(lineChars, line)}…` : line;
}

/** Cuts a text without splitting a surrogate pair. */
function upTo(chars: number, text: string): string {
  return text.slice(0, chars).replace(/[\ud800-\udbff]$/, '');
}

/**
 * All workers, the oldest first. If they do not fit: live workers first, then
 * ended ones, the newest first, with the total.
 */
export function workersAnswer(workers: Worker[], clientName: string): Facts {
  const rows = (some: Worker[]) => some.map((one) => workerFacts(one, true));
  const all = { agents: rows(workers) };
  if (fits(all, clientName)) return all;
  const isOver = ({ log }: Worker) => log.read().isOver;
  const first = [
    ...workers.filter((one) => !isOver(one)),
    ...workers.filter(isOver).toReversed()
  ];
  const part = listPart('agents', rows(first), true);
  return fitAnswer(clientName, (put) => put(part));
}

interface EventsQuery {
  agent_id: string;
  since_seq: number;
  max_events: number;
}

/** Characters reserved for the JSON around the events. */
const frameChars = 300;
/** Characters reserved for the field name of a cut payload, and a comma. */
const nameChars = 12;

/** As many events after `since_seq` as fit; one that is too long is cut. */
export function eventsAnswer(
  { folder, log }: Worker,
  { agent_id, since_seq, max_events }: EventsQuery,
  clientName: string
): Facts {
  const { answerBytes } = limitsOf(clientName);
  let room = Math.min(inlineChars, answerBytes) - frameChars;
  const delta = log.outbox.since(since_seq, {
    entries: max_events,
    chars: room
  });
  const events: Facts[] = [];
  let more = delta.more;
  for (const event of delta.entries) {
    const whole = eventFacts(event, folder.public);
    const size = Buffer.byteLength(JSON.stringify(whole)) + 1;
    if (size > room && events.length > 0) {
      more = true;
      break;
    }
    events.push(
      size > room ? cutEvent(whole, folder.paths().outbox, room) : whole
    );
    room -= size;
  }
  const last = delta.entries[events.length - 1]?.seq;
  const last_seq = last ?? Math.min(since_seq, log.outbox.lastSeq());
  const source = events.length > 0 ? ofAgent : {};
  return { agent_id, ...source, events, last_seq, ...(more ? { more } : {}) };
}

/** An event with the absolute path of its payload file, if it has one. */
export function eventFacts(event: WorkerEvent, directory: string): Facts {
  const { payload_file: file, ...rest } = event;
  return file === undefined
    ? { ...rest }
    : { ...rest, payload_file: join(directory, file) };
}

/**
 * Replaces the payload of an event that is too long by the two ends of the
 * payload's JSON.
 * @param room bytes of JSON for the event
 */
export function cutEvent(
  { payload, ...rest }: Facts,
  outbox: string,
  room: number
): Facts {
  const json = JSON.stringify(payload) ?? '';
  const ends = { head: json, tail: '', totalChars: json.length };
  const mark = '\n\n… [cut: full_output has the whole event] …\n\n';
  const part = endsPart(
    'payload',
    ends,
    cutWithFile(() => outbox, mark)
  );
  const left = room - sizeOf(rest) - nameChars;
  return { ...rest, ...part.within({ chars: left, bytes: left }) };
}
