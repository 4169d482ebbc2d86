import type { ApiRequest, Reply } from '../../../plugin/plugin.ts';
import type { Digests } from '../../state/integrity/digests.ts';
import type { Prices } from '../price.ts';

/** The stdin of an API agent's process. It contains no key. */
export interface ApiTask {
  v: 1;
  engine: string;
  label: string;
  /** The plugin that provides the engine; null for a built-in one. */
  plugin: PluginOfTask | null;
  request: ApiRequest;
  /** Seconds without a byte until the call is aborted; 0 disables the limit. */
  idleTimeoutSeconds: number;
  prices: Prices;
}

export interface PluginOfTask {
  configFile: string;
  /** The plugin's index in `plugins` of that file. */
  place: number;
  /** Digests of the trusted files; a changed file does not load. */
  pinnedCode: Digests;
}

/** The environment variable that passes the key to the agent's process. */
export const keyVariable = 'TROUPE_API_KEY';

/** The first argument that makes the agent's program a shared host. */
export const hostArgument = 'host';

/** What a server sends to a host, together with the agent's stdin. */
export interface HostedAgent {
  /** The agent's folder, which contains its task. */
  directory: string;
  /** 0 for no limit. */
  outputLimitBytes: number;
}

/** The line with which a host takes an agent on; events follow it. */
export const takenLine = 'taken\n';

/** A line of JSON that the agent's process writes to stdout. */
export type ApiEvent =
  | { type: 'text'; piece: string }
  | { type: 'progress'; text: string }
  /** `text` is omitted when it equals the concatenated pieces. */
  | { type: 'reply'; reply: Omit<Reply, 'text'> & { text?: string } };

/** Applies an event to the reply; returns it unchanged for other values. */
export function readApiEvent(reply: Reply, event: unknown): Reply {
  if (!isApiEvent(event)) return reply;
  switch (event.type) {
    case 'text': {
      const { progress: _, ...rest } = reply;
      return { ...rest, text: reply.text + event.piece };
    }
    case 'progress':
      return { ...reply, progress: event.text };
    case 'reply':
      return { text: reply.text, ...event.reply };
  }
}

/** Checks only the type, because only troupe's own process writes events. */
function isApiEvent(event: unknown): event is ApiEvent {
  if (typeof event !== 'object' || event === null) return false;
  const type: unknown = Reflect.get(event, 'type');
  return type === 'text' || type === 'progress' || type === 'reply';
}
