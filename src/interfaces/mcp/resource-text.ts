import type { WorkerEvent } from '../../core/orchestrator/records.ts';
import type { Facts } from '../../core/runs/fit.ts';
import { inlineChars } from '../../core/runs/report.ts';
import type { SeqLog } from '../../core/state/seq-log.ts';
import { limitsOf } from './clients.ts';
import { cut, shown } from './events-answer.ts';
import type { Asked, Content } from './resources.ts';

/**
 * JSON lines have no registered name; of those in use this one is known to
 * most programs. Clients show what comes as text under any.
 */
export const jsonLines = 'application/x-ndjson';

/** For what is around the events, and for what says where the others are. */
const frameChars = 1000;

export interface EventFile<Event extends WorkerEvent> {
  log: SeqLog<Event>;
  /** The folder of who wrote an event. */
  directoryOf: (event: Event) => string;
}

/**
 * The newest events of a file, each a line of JSON and whole, as many as the
 * client takes. Where that is not all that was asked for, a second text says
 * how to have the rest, so that the first has nothing but events.
 */
export function eventContents<Event extends WorkerEvent>(
  { log, directoryOf }: EventFile<Event>,
  { place, uri, clientName }: Asked
): Content[] {
  const events = log
    .tail(place.tail, inlineChars)
    .map((event) => shown(event, directoryOf(event)));
  const { lines, isCut } = newest(events, clientName, log.path);
  const text = lines.map((line) => `${line}\n`).join('');
  const contents = [{ uri, mimeType: jsonLines, text }];
  if (!isCut) return contents;
  const note = `There is no room for all of it here. events_read tells all events of a worker, page by page; the file is ${log.path}`;
  return [...contents, { uri: place.uri, mimeType: 'text/plain', text: note }];
}

function newest(
  events: Facts[],
  clientName: string,
  path: string
): { lines: string[]; isCut: boolean } {
  let chars = inlineChars - frameChars;
  let bytes = limitsOf(clientName).answerBytes - frameChars;
  // What JSON has escaped is escaped again there, at most twice as long.
  const room = Math.min(chars, Math.floor(bytes / 2));
  const hasRoom = (line: string) => {
    chars -= line.length + 1;
    // In the answer it stands as a string of JSON.
    bytes -= Buffer.byteLength(JSON.stringify(line));
    return chars >= 0 && bytes >= 0;
  };
  const lines: string[] = [];
  for (const event of events.toReversed()) {
    const line = JSON.stringify(event);
    if (hasRoom(line)) {
      lines.unshift(line);
      continue;
    }
    if (lines.length === 0) lines.push(JSON.stringify(cut(event, path, room)));
    return { lines, isCut: true };
  }
  return { lines, isCut: false };
}
