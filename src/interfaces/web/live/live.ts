import { randomBytes } from 'node:crypto';
import { isAgentId } from '../../../core/runs/run.ts';
import { poll, SharedRounds } from '../../../core/timing.ts';
import type { Host } from '../../../host/host.ts';
import { AgentTopic } from './agent-topic.ts';
import { BoardTopic } from './board-topic.ts';
import { Revisions } from './row-log.ts';

/** While a page looks, sizes of outputs are compared at this interval. */
const followMs = 100;
/** While a page looks, everything is read again at this interval. */
const refreshMs = 1000;
/** While a page looks, limits and ends of agents are attended to. */
const attendMs = 5000;

/** What a stream sends to a page, by topic. */
export type Changes = Record<string, unknown>;

interface Reader {
  topics: string[];
  /** Called when topics may have changed. */
  flush: () => void;
}

/**
 * Follows the workspace for pages, and does nothing while no page looks. Its
 * topics are `board` and `agent:<id>`.
 */
export class Live {
  /** Another server has other revisions. */
  readonly epoch = randomBytes(6).toString('base64url');
  readonly #host: Host;
  readonly #onProblem: (problem: unknown) => void;
  readonly #revisions = new Revisions();
  readonly #board: BoardTopic;
  readonly #agents = new Map<string, AgentTopic>();
  readonly #readers = new Set<Reader>();
  #stop: (() => void) | undefined;
  #refreshedAt = Number.NEGATIVE_INFINITY;
  #attendedAt = Number.NEGATIVE_INFINITY;
  /** Whether the board has been read since a page looks. */
  #isFresh = false;
  /** Whether this server has agents of its own. */
  #isOwner = false;
  /** Whether a person has given a worker something to do. */
  #hasWorkers = false;
  readonly #rounds = new SharedRounds(() => this.#round());

  constructor(host: Host, onProblem: (problem: unknown) => void) {
    this.#host = host;
    this.#onProblem = onProblem;
    this.#board = new BoardTopic(host, this.#revisions);
  }

  get rev(): number {
    return this.#revisions.last;
  }

  /** @returns a function that ends the subscription */
  subscribe(topics: string[], flush: () => void): () => void {
    const reader = { topics, flush };
    this.#readers.add(reader);
    for (const topic of topics) {
      const id = agentIn(topic);
      if (id !== undefined && !this.#agents.has(id))
        this.#agents.set(id, new AgentTopic(this.#host, id, this.#revisions));
    }
    this.#stop ??= poll(followMs, () => this.#rounds.result(), this.#onProblem);
    this.hurry();
    return () => {
      this.#readers.delete(reader);
      const isWanted = (id: string) =>
        [...this.#readers].some(({ topics }) => topics.includes(`agent:${id}`));
      for (const id of this.#agents.keys())
        if (!isWanted(id)) this.#agents.delete(id);
      if (this.#readers.size > 0) return;
      this.#stop?.();
      this.#stop = undefined;
      this.#isFresh = false;
    };
  }

  /** Keeps the limits of agents that the page has started, until the end. */
  own(): void {
    if (this.#isOwner) return;
    this.#isOwner = true;
    this.#host.watch();
  }

  /** Keeps the limits of workers, and records their ends, while a page looks. */
  ownWorkers(): void {
    this.#hasWorkers = true;
  }

  /** Reads everything again soon, after an action of a person. */
  hurry(): void {
    this.#refreshedAt = Number.NEGATIVE_INFINITY;
    if (this.#readers.size > 0) this.#rounds.result().catch(this.#onProblem);
  }

  /** What a reader lacks that knows these revisions; undefined for nothing. */
  since(known: Map<string, number>): Changes | undefined {
    if (!this.#isFresh) return undefined;
    const changes: Changes = {};
    for (const [topic, rev] of known) {
      const id = agentIn(topic);
      const change =
        id === undefined
          ? this.#board.since(rev)
          : this.#agents.get(id)?.since(rev);
      if (change) changes[topic] = change;
    }
    return Object.keys(changes).length > 0 ? changes : undefined;
  }

  /** Not awaited: it may end processes, and the page shows what there is. */
  #attend(now: number): void {
    if (now - this.#attendedAt < attendMs) return;
    this.#attendedAt = now;
    this.#host.attend().catch(this.#onProblem);
    if (this.#hasWorkers) void this.#host.orchestrator.attend();
  }

  async #round(): Promise<void> {
    if (this.#readers.size === 0) return;
    const before = this.#isFresh ? this.rev : -1;
    const now = performance.now();
    if (now - this.#refreshedAt >= refreshMs) {
      this.#refreshedAt = now;
      this.#attend(now);
      await this.#board.refresh();
    } else await this.#board.follow();
    for (const topic of this.#agents.values()) await topic.refresh();
    this.#isFresh = this.#readers.size > 0;
    if (this.rev === before) return;
    for (const { flush } of this.#readers) flush();
  }
}

/** Topics of a request; unknown ones are left out. */
export function topicsIn(text: string): string[] {
  const all = text.split(',').filter((topic) => {
    return topic === 'board' || agentIn(topic) !== undefined;
  });
  return [...new Set(all)].slice(0, mostTopics);
}

const mostTopics = 50;

function agentIn(topic: string): string | undefined {
  const id = topic.startsWith('agent:') ? topic.slice(6) : '';
  return isAgentId(id) ? id : undefined;
}
