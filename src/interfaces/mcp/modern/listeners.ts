import type { RequestId } from '@modelcontextprotocol/sdk/types.js';
import { z } from 'zod';
import { logProblem } from '../../../host/log.ts';
import type { Bridge, Exchange, Params } from './bridge.ts';
import { subscriptionIdKey } from './envelope.ts';
import { ModernError } from './revision.ts';

/** The most streams of one client. */
const mostListeners = 256;
/** The most resources of one stream. */
const mostUris = 1000;

const listSchema = z.boolean().optional();

const filterSchema = z.looseObject({
  notifications: z.looseObject({
    toolsListChanged: listSchema,
    promptsListChanged: listSchema,
    resourcesListChanged: listSchema,
    resourceSubscriptions: z.array(z.string()).max(mostUris).optional()
  })
});

/** The changes that a stream reports. */
type Filter = z.output<typeof filterSchema>['notifications'];

interface Listener {
  filter: Filter;
  notify: (method: string, params: Params) => void;
}

/** What the server can report. */
export interface Reportable {
  tools?: { listChanged?: boolean | undefined } | undefined;
  prompts?: { listChanged?: boolean | undefined } | undefined;
  resources?:
    | { listChanged?: boolean | undefined; subscribe?: boolean | undefined }
    | undefined;
}

/** The streams of `subscriptions/listen` of one client. */
export class Listeners {
  readonly #bridge: Bridge;
  readonly #reportable: Reportable;
  readonly #all = new Set<Listener>();

  constructor(bridge: Bridge, reportable: Reportable) {
    this.#bridge = bridge;
    this.#reportable = reportable;
    bridge.onchange = (method, params) => {
      for (const { filter, notify } of this.#all)
        if (wants(filter, method, params)) notify(method, params);
    };
  }

  /**
   * Reports changes until the client cancels the stream or the server ends.
   * @returns false if the client canceled it
   * @throws ModernError
   */
  async listen(
    id: RequestId,
    params: unknown,
    exchange: Exchange,
    ending: AbortSignal
  ): Promise<boolean> {
    const { data } = filterSchema.safeParse(params);
    if (!data)
      throw new ModernError(
        -32602,
        `The request wants "notifications": which changes to report, with at most ${mostUris} resources.`
      );
    if (this.#all.size >= mostListeners)
      throw new ModernError(
        -32603,
        `This client has ${mostListeners} streams of changes already. Close one.`
      );
    const changes = new Changes(exchange, id);
    const listener: Listener = {
      filter: {},
      notify: (method, params) => changes.add(method, params)
    };
    this.#all.add(listener);
    this.#bridge.canNotify = true;
    try {
      await this.#subscribe(listener, data.notifications);
      changes.start(listener.filter);
      return await untilOver(exchange.signal, ending);
    } finally {
      this.#all.delete(listener);
      this.#bridge.canNotify = this.#all.size > 0;
      if (!ending.aborted) await this.#unsubscribe(listener);
    }
  }

  /** Sets what of the wanted changes the server reports. */
  async #subscribe(listener: Listener, wanted: Filter): Promise<void> {
    const { tools, prompts, resources } = this.#reportable;
    const { filter } = listener;
    // The server compares with the list that it gave last.
    if (wanted.toolsListChanged && tools?.listChanged) {
      filter.toolsListChanged = true;
      await this.#bridge.request('tools/list');
    }
    if (wanted.promptsListChanged && prompts?.listChanged)
      filter.promptsListChanged = true;
    if (wanted.resourcesListChanged && resources?.listChanged) {
      filter.resourcesListChanged = true;
      await this.#bridge.request('resources/list');
    }
    if (!wanted.resourceSubscriptions || !resources?.subscribe) return;
    const uris: string[] = [];
    filter.resourceSubscriptions = uris;
    for (const uri of new Set(wanted.resourceSubscriptions)) {
      // Before the server answers: another stream that ends must not undo it.
      uris.push(uri);
      const bridged = await this.#bridge.request('resources/subscribe', {
        uri
      });
      if (!bridged || 'error' in bridged.answer) uris.pop();
    }
    if (uris.length === 0) delete filter.resourceSubscriptions;
  }

  async #unsubscribe({ filter }: Listener): Promise<void> {
    const others = [...this.#all].flatMap(
      (one) => one.filter.resourceSubscriptions ?? []
    );
    for (const uri of filter.resourceSubscriptions ?? [])
      if (!others.includes(uri))
        await this.#bridge.request('resources/unsubscribe', { uri });
  }
}

/**
 * The unsent changes of one stream. A client that reads slowly gets a change
 * once, however often it happens meanwhile.
 */
class Changes {
  readonly #exchange: Exchange;
  readonly #meta: Params;
  readonly #unsent = new Map<string, [method: string, params: Params]>();
  /** Also before the acknowledgment, which comes first. */
  #isSending = true;

  constructor(exchange: Exchange, id: RequestId) {
    this.#exchange = exchange;
    this.#meta = { [subscriptionIdKey]: id };
  }

  start(notifications: Filter): void {
    this.#send('notifications/subscriptions/acknowledged', { notifications })
      .then(() => this.#sendAll())
      .catch(logProblem);
  }

  add(method: string, params: Params): void {
    this.#unsent.set(`${method} ${params.uri}`, [method, params]);
    if (!this.#isSending) this.#sendAll().catch(logProblem);
  }

  async #sendAll(): Promise<void> {
    this.#isSending = true;
    for (const [key, [method, params]] of this.#unsent) {
      this.#unsent.delete(key);
      await this.#send(method, params);
    }
    this.#isSending = false;
  }

  #send(method: string, params: Params): Promise<void> {
    return this.#exchange.notify(method, { ...params, _meta: this.#meta });
  }
}

function wants(filter: Filter, method: string, { uri }: Params): boolean {
  switch (method) {
    case 'notifications/tools/list_changed':
      return filter.toolsListChanged === true;
    case 'notifications/prompts/list_changed':
      return filter.promptsListChanged === true;
    case 'notifications/resources/list_changed':
      return filter.resourcesListChanged === true;
    case 'notifications/resources/updated':
      return filter.resourceSubscriptions?.includes(String(uri)) ?? false;
    default:
      return false;
  }
}

/** @returns whether the server ended first */
function untilOver(
  cancelled: AbortSignal,
  ending: AbortSignal
): Promise<boolean> {
  return new Promise((resolve) => {
    const over = () => {
      cancelled.removeEventListener('abort', over);
      ending.removeEventListener('abort', over);
      resolve(!cancelled.aborted);
    };
    cancelled.addEventListener('abort', over);
    ending.addEventListener('abort', over);
    if (cancelled.aborted || ending.aborted) over();
  });
}
