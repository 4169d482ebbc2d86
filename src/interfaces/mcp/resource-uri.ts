import { shortened } from './define-tool.ts';

/** Events that a resource shows when nobody says how many. */
const usualTail = 200;
const longestTail = 1000;

/** What a URI points to. `uri` is the one without parameters. */
export interface Place {
  kind: 'outbox' | 'meta' | 'broadcast';
  uri: string;
  /** A worker's, or a run's. */
  id: string;
  /** So many events, the newest ones. */
  tail: number;
}

/** What a request for a resource is refused with, as JSON-RPC has it. */
export class ResourceError extends Error {
  readonly code: number;
  readonly data: { uri: string } | undefined;

  constructor(code: number, message: string, uri?: string) {
    super(message);
    this.name = 'ResourceError';
    this.code = code;
    this.data = uri === undefined ? undefined : { uri };
  }
}

/** @throws ResourceError */
export function placeOf(uri: string): Place {
  const found = /^(agent|run):\/\/([^/?#]+)\/(\w+)(?:\?([^#]*))?$/.exec(uri);
  const [, scheme, id = '', name, query = ''] = found ?? [];
  const kind = kindOf(`${scheme} ${name}`);
  if (kind === undefined)
    throw unknownResource(
      uri,
      `There is no resource "${shortened(uri)}". There are agent://<agent_id>/outbox, agent://<agent_id>/meta and run://<run_id>/broadcast.`
    );
  const [plain = uri] = uri.split('?');
  const tail = tailOf(query, kind === 'meta' ? [] : ['tail']);
  return { kind, uri: plain, id, tail };
}

export function unknownResource(uri: string, message: string): ResourceError {
  return new ResourceError(-32002, message, uri);
}

export function invalidParams(message: string): ResourceError {
  return new ResourceError(-32602, message);
}

function kindOf(words: string): Place['kind'] | undefined {
  if (words === 'agent outbox') return 'outbox';
  if (words === 'agent meta') return 'meta';
  return words === 'run broadcast' ? 'broadcast' : undefined;
}

function tailOf(query: string, allowed: string[]): number {
  if (query === '') return usualTail;
  const given = [...new URLSearchParams(query)];
  const foreign = given.find(([name]) => !allowed.includes(name));
  if (foreign)
    throw invalidParams(
      `This resource has no parameter "${shortened(foreign[0])}". Outboxes and broadcasts have tail, and nothing else has any.`
    );
  const tail = Number(/^tail=([1-9]\d{0,3})$/.exec(query)?.[1]);
  if (tail <= longestTail) return tail;
  const words = given.map(([, value]) => `"${shortened(value)}"`).join(', ');
  throw invalidParams(
    `tail is one whole number from 1 to ${longestTail}, not ${words || 'nothing'}. events_read tells all events, page by page.`
  );
}
