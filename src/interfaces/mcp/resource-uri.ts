import { shortened } from './define-tool.ts';
import { invalidParams, ProtocolError } from './protocol-error.ts';

/** Events that a resource shows when nobody says how many. */
const usualTail = 200;
const longestTail = 1000;

/** What a URI points to. `uri` is the one without parameters. */
export interface Place {
  kind: Kind;
  uri: string;
  /** A worker's, of a run of workers, an agent's, or a log's name. */
  id: string;
  /** So many events, the newest ones. */
  tail: number;
  /** Characters to begin at, in a text. */
  offset?: number;
}

type Kind = 'outbox' | 'meta' | 'broadcast' | 'output' | 'record' | 'log';

/** Form of a URI without parameters, and what it leads to. */
const forms: [form: RegExp, kind: Kind, parameter?: 'tail' | 'offset'][] = [
  [/^agent:\/\/([^/]+)\/outbox$/, 'outbox', 'tail'],
  [/^agent:\/\/([^/]+)\/meta$/, 'meta'],
  [/^run:\/\/([^/]+)\/broadcast$/, 'broadcast', 'tail'],
  [/^troupe:\/\/agents\/([^/]+)\/output$/, 'output', 'offset'],
  [/^troupe:\/\/agents\/([^/]+)\/record$/, 'record'],
  [/^troupe:\/\/log\/(IAC\.md|CONTEXT\.md)$/, 'log', 'offset']
];

/** @throws ProtocolError */
export function placeOf(uri: string): Place {
  const [, plain = '', query = ''] = /^([^?#]*)(?:\?([^#]*))?$/.exec(uri) ?? [];
  for (const [form, kind, parameter] of forms) {
    const [, id] = form.exec(plain) ?? [];
    if (id === undefined) continue;
    checkParameters(query, parameter);
    const place = { kind, uri: plain, id };
    if (parameter !== 'offset') return { ...place, tail: tailOf(query) };
    const offset = offsetOf(query);
    return { ...place, tail: usualTail, ...(offset >= 0 ? { offset } : {}) };
  }
  throw unknownResource(
    uri,
    `There is no resource "${shortened(uri)}". There are troupe://log/IAC.md, troupe://log/CONTEXT.md, troupe://agents/<agent_id>/output and /record; of workers agent://<agent_id>/outbox, agent://<agent_id>/meta and run://<run_id>/broadcast.`
  );
}

export function unknownResource(uri: string, message: string): ProtocolError {
  return new ProtocolError(-32002, message, uri);
}

/** @throws ProtocolError */
function checkParameters(query: string, allowed: string | undefined): void {
  const foreign = [...new URLSearchParams(query).keys()].find(
    (name) => name !== allowed
  );
  if (foreign === undefined) return;
  throw invalidParams(
    `This resource has no parameter "${shortened(foreign)}". Outboxes and broadcasts have tail, outputs and logs have offset, and nothing else has any.`
  );
}

/** @throws ProtocolError */
function tailOf(query: string): number {
  if (query === '') return usualTail;
  const tail = Number(/^tail=([1-9]\d{0,3})$/.exec(query)?.[1]);
  if (tail <= longestTail) return tail;
  throw invalidParams(
    `tail is one whole number from 1 to ${longestTail}, not ${valuesIn(query)}. events_read tells all events, page by page.`
  );
}

/**
 * -1 where none is given.
 * @throws ProtocolError
 */
function offsetOf(query: string): number {
  if (query === '') return -1;
  const offset = Number(/^offset=(\d{1,15})$/.exec(query)?.[1]);
  if (offset >= 0) return offset;
  throw invalidParams(
    `offset is one whole number of characters, 0 or more, not ${valuesIn(query)}.`
  );
}

function valuesIn(query: string): string {
  const given = [...new URLSearchParams(query).values()].slice(0, 3);
  return given.map((value) => `"${shortened(value)}"`).join(', ') || 'nothing';
}
