import {
  invalidParams,
  ProtocolError,
  shortened
} from '../transport/protocol.ts';

/** The number of events if the URI has no `tail`. */
const defaultTail = 200;
const maxTail = 1000;

/** A parsed URI. */
export interface ResourceRef {
  kind: Kind;
  /** The URI without parameters. */
  uri: string;
  /** The id of a worker, a run of workers or an agent, or the name of a log. */
  id: string;
  /** The number of events, counted back from the newest. */
  tail: number;
  /** The index of the first character of a text. */
  offset?: number;
}

type Kind = 'outbox' | 'meta' | 'broadcast' | 'output' | 'record' | 'log';

/** Patterns of URIs without parameters, and the parameter of each kind. */
const forms: [form: RegExp, kind: Kind, parameter?: 'tail' | 'offset'][] = [
  [/^agent:\/\/([^/]+)\/outbox$/, 'outbox', 'tail'],
  [/^agent:\/\/([^/]+)\/meta$/, 'meta'],
  [/^run:\/\/([^/]+)\/broadcast$/, 'broadcast', 'tail'],
  [/^troupe:\/\/agents\/([^/]+)\/output$/, 'output', 'offset'],
  [/^troupe:\/\/agents\/([^/]+)\/record$/, 'record'],
  [/^troupe:\/\/log\/(IAC\.md|CONTEXT\.md)$/, 'log', 'offset']
];

/** @throws ProtocolError */
export function parseUri(uri: string): ResourceRef {
  const [, plain = '', query = ''] = /^([^?#]*)(?:\?([^#]*))?$/.exec(uri) ?? [];
  for (const [form, kind, parameter] of forms) {
    const [, id] = form.exec(plain) ?? [];
    if (id === undefined) continue;
    checkParameters(query, parameter);
    const ref = { kind, uri: plain, id, tail: defaultTail };
    if (query === '') return ref;
    return parameter === 'offset'
      ? { ...ref, offset: offsetOf(query) }
      : { ...ref, tail: tailOf(query) };
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
  const tail = Number(/^tail=([1-9]\d{0,3})$/.exec(query)?.[1]);
  if (tail <= maxTail) return tail;
  throw invalidParams(
    `tail is one whole number from 1 to ${maxTail}, not ${valuesIn(query)}. events_read returns all events, page by page.`
  );
}

/** @throws ProtocolError */
function offsetOf(query: string): number {
  const offset = Number(/^offset=(\d{1,15})$/.exec(query)?.[1]);
  if (offset >= 0) return offset;
  throw invalidParams(
    `offset is one whole number of characters, 0 or more, not ${valuesIn(query)}.`
  );
}

function valuesIn(query: string): string {
  const values = [...new URLSearchParams(query).values()].slice(0, 3);
  return values.map((value) => `"${shortened(value)}"`).join(', ') || 'nothing';
}
