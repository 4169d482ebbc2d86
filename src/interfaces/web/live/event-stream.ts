import type { IncomingMessage, ServerResponse } from 'node:http';
import { safeHeaders } from '../reply.ts';
import { type Live, topicsIn } from './live.ts';

/** A page that gets nothing for twice this time connects again. */
const beatMs = 5000;

interface StreamRequest {
  /** `topics`, `new` and `after` of the address. */
  query: URLSearchParams;
  /** Aborted when the server ends. */
  ending: AbortSignal;
}

/**
 * Answers with a stream of server-sent events: `state` for a page that knows
 * nothing, then `change`, each with what the page lacks. `after` is the id of
 * the last event that the page got; `new` are topics that it has added since.
 */
export function streamEvents(
  live: Live,
  request: IncomingMessage,
  response: ServerResponse,
  { query, ending }: StreamRequest
): void {
  const [epoch, rev] = (query.get('after') ?? '').split('.');
  const isKnown = epoch === live.epoch && /^\d+$/.test(rev ?? '');
  const added = new Set(topicsIn(query.get('new') ?? ''));
  const known = new Map(
    topicsIn(query.get('topics') ?? '').map((topic) => [
      topic,
      isKnown && !added.has(topic) ? Math.min(Number(rev), live.rev) : 0
    ])
  );
  response.writeHead(200, {
    ...safeHeaders,
    'Content-Type': 'text/event-stream; charset=utf-8',
    'Cache-Control': 'no-store',
    'X-Accel-Buffering': 'no'
  });
  response.write(
    `event: hello\ndata: ${JSON.stringify({ epoch: live.epoch })}\n\n`
  );
  let isFull = false;
  const flush = () => {
    if (isFull || response.destroyed) return;
    const changes = live.since(known);
    if (!changes) return;
    for (const topic of known.keys()) known.set(topic, live.rev);
    // A reader that is too slow gets the newest rows once it has read these.
    isFull = !response.write(
      `id: ${live.epoch}.${live.rev}\nevent: change\ndata: ${JSON.stringify(changes)}\n\n`
    );
  };
  response.on('drain', () => {
    isFull = false;
    flush();
  });
  const unsubscribe = live.subscribe([...known.keys()], flush);
  const beat = setInterval(() => {
    if (!isFull) response.write('event: beat\ndata: {}\n\n');
  }, beatMs);
  const end = () => response.end('event: end\ndata: {}\n\n');
  ending.addEventListener('abort', end, { once: true });
  const close = () => {
    clearInterval(beat);
    unsubscribe();
    ending.removeEventListener('abort', end);
  };
  request.socket.once('close', close);
  response.once('close', close);
  flush();
}
