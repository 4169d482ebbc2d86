import type { ApiRequest, Reply } from '../../plugin.ts';
import type { Digests } from '../state/digests.ts';
import type { Prices } from './price.ts';

/** What an API agent's own process is told on stdin. Holds no key. */
export interface ApiTask {
  v: 1;
  engine: string;
  label: string;
  /** The configuration's `plugins` that bring it; null for a built-in one. */
  plugin: PluginOfTask | null;
  request: ApiRequest;
  /** Seconds without a byte until the call is given up; 0 for never. */
  idleTimeoutSeconds: number;
  prices: Prices;
}

export interface PluginOfTask {
  configFile: string;
  place: number;
  /** What files held when the user trusted them: only then are they loaded. */
  pinnedCode: Digests;
}

/** The environment variable that carries the key to that process. */
export const keyVariable = 'TROUPE_API_KEY';

/** What that process writes on stdout, a JSON line each. */
export type ApiEvent =
  | { type: 'text'; piece: string }
  | { type: 'progress'; text: string }
  /** Its text is left out where the pieces add up to it. */
  | { type: 'reply'; reply: Omit<Reply, 'text'> & { text?: string } };

/** Folds one such line into the reply. */
export function readApiEvent(reply: Reply, event: unknown): Reply {
  if (!isApiEvent(event)) return reply;
  switch (event.type) {
    case 'text': {
      const text = reply.text + event.piece;
      return { ...reply, text, progress: soFar(text.length) };
    }
    case 'progress':
      return { ...reply, progress: event.text };
    case 'reply':
      return { text: reply.text, ...event.reply };
  }
}

/** How far an answer is, for people. */
export function soFar(characters: number): string {
  return `${characters} characters so far`;
}

/** Only our own program writes here, so the type alone decides. */
function isApiEvent(event: unknown): event is ApiEvent {
  if (typeof event !== 'object' || event === null) return false;
  const type: unknown = Reflect.get(event, 'type');
  return type === 'text' || type === 'progress' || type === 'reply';
}
