/** One row of a topic; its id is unique in it. */
export interface Row {
  id: string;
  [field: string]: unknown;
}

/** What a reader lacks. */
export interface RowChange {
  /** Whether `rows` are all there are. */
  isAll: boolean;
  rows: Row[];
  gone: string[];
}

/** Numbers the changes of all topics of one server. */
export class Revisions {
  /** The number of the last change; 0 before the first. */
  last = 0;

  next(): number {
    this.last += 1;
    return this.last;
  }
}

/** A reader that knows less than so many removed rows gets all rows. */
const mostGone = 1000;

/**
 * The current rows of a topic, each with the number of its last change. It is a
 * state and no log: a slow reader gets the newest rows, and never an old one.
 */
export class RowLog {
  readonly #revisions: Revisions;
  readonly #rows = new Map<string, { row: Row; json: string; rev: number }>();
  readonly #gone = new Map<string, number>();
  /** Readers that know less get everything. */
  #completeFrom = 0;

  constructor(revisions: Revisions) {
    this.#revisions = revisions;
  }

  find(id: string): Row | undefined {
    return this.#rows.get(id)?.row;
  }

  get ids(): string[] {
    return [...this.#rows.keys()];
  }

  /** Takes over all rows there are. */
  replace(rows: Row[]): void {
    const ids = new Set(rows.map(({ id }) => id));
    for (const id of this.ids) if (!ids.has(id)) this.#remove(id);
    for (const row of rows) this.put(row);
  }

  /** Takes over one row. A row without a change keeps its number. */
  put(row: Row): void {
    const json = JSON.stringify(row);
    if (this.#rows.get(row.id)?.json === json) return;
    this.#gone.delete(row.id);
    this.#rows.set(row.id, { row, json, rev: this.#revisions.next() });
  }

  /** Undefined when a reader that knows everything up to `rev` lacks nothing. */
  since(rev: number): RowChange | undefined {
    const isAll = rev < Math.max(1, this.#completeFrom);
    const rows = [...this.#rows.values()]
      .filter((entry) => isAll || entry.rev > rev)
      .map(({ row }) => row);
    const gone = isAll
      ? []
      : [...this.#gone].filter(([, at]) => at > rev).map(([id]) => id);
    return isAll || rows.length + gone.length > 0
      ? { isAll, rows, gone }
      : undefined;
  }

  #remove(id: string): void {
    this.#rows.delete(id);
    this.#gone.set(id, this.#revisions.next());
    if (this.#gone.size <= mostGone) return;
    const [oldest] = this.#gone;
    if (!oldest) return;
    this.#gone.delete(oldest[0]);
    this.#completeFrom = oldest[1];
  }
}
