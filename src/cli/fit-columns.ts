/** How a column of a table yields where a terminal is too narrow for it. */
export interface Yielding {
  /** Columns of the terminal that it can be cut to; absent: it is never cut. */
  least?: number;
  /**
   * Where cutting is not enough the column with the lowest number goes first;
   * absent: it always stays.
   */
  goes?: number;
}

export interface Wanting extends Yielding {
  /** Of its widest cell. */
  width: number;
}

/** Between two columns. */
export const gap = '  ';

/**
 * The width of each column so that a line has no more than `room`, undefined
 * for one that goes. What cannot be cut any further is as wide as it is.
 */
export function fitColumns(
  wanting: Wanting[],
  room: number
): (number | undefined)[] {
  const stays = new Set(wanting);
  while (lengthOf([...stays].map(leastOf)) > room) {
    const [first] = [...stays]
      .filter(({ goes }) => goes !== undefined)
      .sort((a, b) => (a.goes ?? 0) - (b.goes ?? 0));
    if (!first) break;
    stays.delete(first);
  }
  const widths = cutWidest([...stays], room);
  return wanting.map((column) => widths.get(column));
}

function cutWidest(columns: Wanting[], room: number): Map<Wanting, number> {
  const widths = new Map(
    columns.map((column) => [
      column,
      // Nobody waits while a line of megabytes is cut one by one.
      Math.max(leastOf(column), Math.min(column.width, room))
    ])
  );
  for (;;) {
    if (lengthOf([...widths.values()]) <= room) return widths;
    const [widest] = [...widths]
      .filter(([column, width]) => width > leastOf(column))
      .sort(([, a], [, b]) => b - a);
    if (!widest) return widths;
    const [column, width] = widest;
    widths.set(column, width - 1);
  }
}

function leastOf({ width, least = width }: Wanting): number {
  return Math.min(width, least);
}

function lengthOf(widths: number[]): number {
  const gaps = gap.length * Math.max(0, widths.length - 1);
  return widths.reduce((total, width) => total + width, gaps);
}
