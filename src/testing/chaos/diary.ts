import type { ToolResult } from '../mcp-client.ts';

/** What was done and what was heard, by whoever acts in a run. */
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
  /** Milliseconds until the truth was told. */
  readonly recoveries: number[] = [];

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

  /** An end that was told of an agent. */
  hear(id: unknown, status: unknown): void {
    const isEnd = typeof status === 'string' && ends.includes(status);
    if (typeof id === 'string' && isEnd) add(this.told, id, status);
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
