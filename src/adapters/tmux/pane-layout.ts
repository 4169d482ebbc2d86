import { type Cell, type Direction, divide, leavesOf } from './layout-text.ts';

/** What a pane needs to be of use. */
export const leastWidth = 20;
export const leastHeight = 5;

export interface Sizes {
  width: number;
  height: number;
}

/**
 * How a window's panes are laid out: the user's own keep their arrangement, in
 * one part, and the agents share the rest evenly. Undefined when they do not
 * fit.
 * @param own the user's part as it is now, undefined when all are agents'
 * @param others how many panes follow
 */
export function planLayout(
  window: Sizes,
  own: Cell | undefined,
  others: number
): Cell | undefined {
  const { width, height } = window;
  if (!own) return grid(others, width, height);
  const least = leastOf(own);
  if (least.width > width || least.height > height) return undefined;
  if (others === 0) return scale(own, width, height);
  const widths = around(wishFor(own, others, width), width).filter(
    (w) => w >= least.width
  );
  const heights = around(wishFor(own, others, height), height).filter(
    (h) => h >= least.height
  );
  const beside = (w: number): Cell | undefined => {
    const rest = grid(others, width - w - 1, height);
    const left = rest && scale(own, w, height);
    return left && divide('across', width, height, [left, rest]);
  };
  const below = (h: number): Cell | undefined => {
    const rest = grid(others, width, height - h - 1);
    const above = rest && scale(own, width, h);
    return above && divide('down', width, height, [above, rest]);
  };
  return (
    best(own, [
      ...widths.map((w) => () => beside(w)),
      ...heights.map((h) => () => below(h))
    ]) ?? crowd(window, own, others, widths)
  );
}

/** What remains of a layout when only these panes stay; sizes are as before. */
export function prune(cell: Cell, panes: Set<number>): Cell | undefined {
  if (cell.cells.length === 0)
    return cell.pane !== undefined && panes.has(cell.pane) ? cell : undefined;
  const cells = cell.cells.flatMap((part) => prune(part, panes) ?? []);
  if (cells.length === 0 || !cell.direction) return undefined;
  return divide(cell.direction, cell.width, cell.height, cells);
}

/** Half of a length for the user's own, and less, to a third, among many. */
function wishFor(own: Cell, others: number, length: number): number {
  const panes = leavesOf(own).length;
  const part = Math.min(1 / 2, Math.max(1 / 3, panes / (panes + others)));
  return Math.floor((length - 1) * part);
}

/** All parts of a length, the nearest to the wish first. */
function around(wish: number, length: number): number[] {
  const all = Array.from({ length: length - 1 }, (_, index) => index + 1);
  return all.sort((a, b) => Math.abs(a - wish) - Math.abs(b - wish));
}

/** When it gets tight, some agents go below the user's own. */
function crowd(
  { width, height }: Sizes,
  own: Cell,
  others: number,
  widths: number[]
): Cell | undefined {
  const least = leastOf(own);
  const below = (count: number, w: number): Cell | undefined => {
    const rows = Math.ceil(count / Math.floor((w + 1) / (leastWidth + 1)));
    const above = height - rows * (leastHeight + 1);
    const rest = grid(count, w, height - above - 1);
    if (!rest || above < least.height) return undefined;
    const left = divide('down', w, height, [scale(own, w, above), rest]);
    const right = grid(others - count, width - w - 1, height);
    return right && divide('across', width, height, [left, right]);
  };
  const counts = Array.from({ length: others - 1 }, (_, index) => index + 1);
  return best(
    own,
    counts.flatMap((count) => widths.map((w) => () => below(count, w)))
  );
}

/** The first way that keeps who was larger at least as large, else any. */
function best(own: Cell, ways: (() => Cell | undefined)[]): Cell | undefined {
  let some: Cell | undefined;
  for (const way of ways) {
    const layout = way();
    if (layout && keepsOrder(own, layout)) return layout;
    some ??= layout;
  }
  return some;
}

function keepsOrder(own: Cell, layout: Cell): boolean {
  const before = leavesOf(own);
  const after = leavesOf(layout);
  return before.every((one, i) =>
    before.every(
      (other, j) => area(one) <= area(other) || area(after[i]) >= area(after[j])
    )
  );
}

function area(cell: Cell | undefined): number {
  return cell ? cell.width * cell.height : 0;
}

/** As many cells of about one size, near to the shape of a terminal. */
function grid(count: number, width: number, height: number): Cell | undefined {
  const most = Math.min(count, Math.floor((width + 1) / (leastWidth + 1)));
  let chosen: { rows: number; score: number } | undefined;
  for (let columns = 1; columns <= most; columns += 1) {
    const rows = Math.ceil(count / columns);
    if (rows * (leastHeight + 1) - 1 > height) continue;
    const score = Math.min(width / columns / 80, height / rows / 24);
    if (!chosen || score > chosen.score) chosen = { rows, score };
  }
  if (!chosen) return undefined;
  const heights = share(height, evenly(chosen.rows));
  const counts = split(count, chosen.rows);
  const rows = heights.map((rowHeight, row) => {
    const widths = share(width, evenly(counts[row] ?? 0));
    const cells = widths.map((cellWidth) => leaf(cellWidth, rowHeight));
    return divide('across', width, rowHeight, cells);
  });
  return divide('down', width, height, rows);
}

function leaf(width: number, height: number): Cell {
  return { width, height, cells: [] };
}

function scale(cell: Cell, width: number, height: number): Cell {
  if (cell.cells.length === 0 || !cell.direction)
    return { ...cell, width, height };
  const across = cell.direction === 'across';
  const along = (one: Sizes) => (across ? one.width : one.height);
  const sizes = share(
    across ? width : height,
    cell.cells.map(along),
    cell.cells.map((part) => along(leastOf(part)))
  );
  const cells = cell.cells.map((part, index) => {
    const size = sizes[index] ?? 0;
    return across ? scale(part, size, height) : scale(part, width, size);
  });
  return { width, height, direction: cell.direction, cells };
}

/** One that the user has made smaller may stay so. */
function leastOf(cell: Cell): Sizes {
  if (cell.cells.length === 0)
    return {
      width: Math.min(leastWidth, cell.width),
      height: Math.min(leastHeight, cell.height)
    };
  const parts = cell.cells.map(leastOf);
  const together = (direction: Direction, sizes: number[]) =>
    cell.direction === direction
      ? sizes.reduce((sum, size) => sum + size + 1, -1)
      : Math.max(...sizes);
  return {
    width: together(
      'across',
      parts.map(({ width }) => width)
    ),
    height: together(
      'down',
      parts.map(({ height }) => height)
    )
  };
}

/**
 * Divides a length by weight, with a line between two; what is larger gets at
 * least as much, unless another needs it.
 */
function share(length: number, weights: number[], least: number[] = []) {
  const free = length - weights.length + 1;
  const sizes = weights.map((_, index) => least[index] ?? 1);
  let open = weights.map((_, index) => index);
  const weightOf = (index: number) => weights[index] ?? 0;
  const sum = (indexes: number[], value: (index: number) => number) =>
    indexes.reduce((total, index) => total + value(index), 0);
  for (;;) {
    const fixed = weights.map((_, i) => i).filter((i) => !open.includes(i));
    const left = free - sum(fixed, (i) => sizes[i] ?? 0);
    const weight = sum(open, weightOf);
    const part = (index: number) => (left * weightOf(index)) / weight;
    const small = open.filter((index) => part(index) < (sizes[index] ?? 0));
    if (small.length === 0) {
      for (const index of open) sizes[index] = Math.floor(part(index));
      break;
    }
    open = open.filter((index) => !small.includes(index));
  }
  const largest = [...open].sort((a, b) => weightOf(b) - weightOf(a));
  const missing =
    free -
    sum(
      weights.map((_, i) => i),
      (i) => sizes[i] ?? 0
    );
  for (const index of largest.slice(0, missing))
    sizes[index] = (sizes[index] ?? 0) + 1;
  return sizes;
}

function evenly(count: number): number[] {
  return Array.from({ length: count }, () => 1);
}

function split(count: number, rows: number): number[] {
  return Array.from(
    { length: rows },
    (_, row) => Math.floor(count / rows) + (row < count % rows ? 1 : 0)
  );
}
