import type { ToolResult } from '../kit/servers/mcp-client.ts';

export interface KnownAgent {
  name: string;
  /** Of its behaviour. */
  kind: string;
  /** Name of the server that started it. */
  server: string;
}

/** What each actor of a run did and observed. */
export class Diary {
  readonly #began = performance.now();
  /** Each line with its second. */
  readonly story: string[] = [];
  readonly counts = new Map<string, number>();
  /** What should not have been seen. */
  readonly seen: string[] = [];
  /** Names of agents whose spawn was acknowledged, by id. */
  readonly acknowledged = new Set<string>();
  readonly told = new Map<string, string[]>();
  readonly injuries = new Map<string, string[]>();
  readonly canceled = new Set<string>();
  readonly requests = new Map<string, string[]>();
  readonly responses = new Map<string, string>();
  /** The most bytes that agents had put out. */
  readonly outputs = new Map<string, number>();
  /** Tasks by worker. */
  readonly tasks = new Map<string, string[]>();
  /** Times at which the disk took nothing, from and until. */
  readonly full: { from: number; until: number }[] = [];
  /** Milliseconds until the right status was reported. */
  readonly recoveries: number[] = [];
  /** What is known of agents beyond their ids. */
  readonly agents = new Map<string, KnownAgent>();
  /** When any interface first reported the end of an agent. */
  readonly endedAt = new Map<string, number>();
  /** When files were removed, by the wall clock: from, until. */
  readonly wipes: { from: number; until: number }[] = [];
  readonly journalsRemoved: number[] = [];
  /** Their container ended too short a while ago for anybody to know it. */
  readonly doubted = new Set<string>();
  /** Of the user, in tmux, which are there until he ends them. */
  readonly sessions = new Set<string>();
  /** Milliseconds until deleted views were back. */
  readonly viewsBack: number[] = [];

  note(line: string): void {
    const seconds = (performance.now() - this.#began) / 1000;
    this.story.push(`${seconds.toFixed(2)} ${line}`);
  }

  count(what: string): void {
    this.counts.set(what, (this.counts.get(what) ?? 0) + 1);
  }

  problem(what: string): void {
    this.note(`!! ${what}`);
    this.seen.push(what);
  }

  /** A reported end of an agent. */
  hear(id: unknown, status: unknown): void {
    const isEnd = typeof status === 'string' && ends.includes(status);
    if (typeof id !== 'string' || !isEnd) return;
    add(this.told, id, status);
    if (!this.endedAt.has(id)) this.endedAt.set(id, Date.now());
  }

  injure(id: string, how: string): void {
    add(this.injuries, id, how);
    this.note(`${how} of ${id}`);
  }

  /** Whether the disk took nothing within these times of the wall clock. */
  wasFull(from: number, until: number): boolean {
    return this.full.some(
      (time) => time.from - 1000 < until && time.until + 1000 > from
    );
  }

  /** Whether files of ours in the workspace were removed in these times. */
  wasWiped(from: number, until: number): boolean {
    return this.wipes.some((time) => time.from < until && time.until > from);
  }

  isHurt(id: string): boolean {
    return this.injuries.has(id);
  }

  /** Whether an error is one that a full disk explains. */
  excuses({ data }: ToolResult): boolean {
    return String(data.error_code).startsWith('storage_') && this.isShort();
  }

  /** Whether the disk is full, or was a moment ago. */
  isShort(): boolean {
    const now = Date.now();
    return this.wasFull(now - 4000, now);
  }
}

const ends = ['completed', 'failed', 'timeout', 'canceled', 'interrupted'];

export function add<Key, Value>(
  lists: Map<Key, Value[]>,
  key: Key,
  value: Value
): void {
  const list = lists.get(key) ?? [];
  lists.set(key, [...list, value]);
}
