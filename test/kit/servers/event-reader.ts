import { type ClientRequest, type IncomingMessage, request } from 'node:http';
import { until } from '../judges/until.ts';
import type { StartedWeb } from './web-server.ts';

export interface PageEvent {
  name: string;
  id: string;
  data: Record<string, Change>;
}

/** What an event says of the board, or of an agent. */
export interface Change {
  isAll: boolean;
  rows?: Record<string, unknown>[];
  gone?: string[];
  steps?: string[];
  text?: string;
  offset?: number;
}

/** A stream of the page, read until it is cut. */
export class EventReader {
  readonly events: PageEvent[] = [];
  status = 0;
  bytes = 0;
  isOver = false;
  #rest = '';
  #response: IncomingMessage | undefined;
  readonly #request: ClientRequest;

  constructor(
    { port }: Pick<StartedWeb, 'port'>,
    token: string,
    query: string
  ) {
    this.#request = request({
      ...{ host: '127.0.0.1', port, path: `/web/events?${query}` },
      agent: false,
      headers: { authorization: `Bearer ${token}` }
    });
    this.#request.on('error', () => undefined);
    this.#request.once('response', (response) => {
      this.#response = response;
      this.status = response.statusCode ?? 0;
      response.setEncoding('utf8').on('data', (text) => this.#take(text));
      response.on('error', () => undefined);
      response.once('close', () => {
        this.isOver = true;
      });
    });
    this.#request.end();
  }

  /** Stops reading, so that the server cannot send any more. */
  pause(): void {
    this.#response?.pause();
  }

  resume(): void {
    this.#response?.resume();
  }

  cut(): void {
    this.#request.destroy();
  }

  /** The first event that fits, from the given one on. */
  until(
    what: string,
    fits: (event: PageEvent) => boolean,
    from = 0
  ): Promise<PageEvent> {
    return until(what, () => this.events.slice(from).find(fits));
  }

  /** The newest row of an agent in all events so far. */
  row(id: string): Record<string, unknown> | undefined {
    return this.events
      .flatMap(({ data }) => data.board?.rows ?? [])
      .findLast((row) => row.id === `agent:${id}`);
  }

  #take(text: string): void {
    this.bytes += text.length;
    const blocks = (this.#rest + text).split('\n\n');
    this.#rest = blocks.pop() ?? '';
    for (const block of blocks) {
      const field = (name: string) =>
        new RegExp(`^${name}: (.*)$`, 'm').exec(block)?.[1] ?? '';
      this.events.push({
        name: field('event'),
        id: field('id'),
        data: JSON.parse(field('data') || '{}')
      });
    }
  }
}
