interface Size {
  width: number;
  height: number;
}

/** A part of a window: one pane, or cells with separator lines between them. */
export interface Cell extends Size {
  /** The pane's number; absent for a pane that is still to be opened. */
  pane?: number;
  /** How the cell is divided, if it is. */
  direction?: Direction;
  cells: Cell[];
}

type Direction = 'across' | 'down';

/** Smaller panes are unusable. */
export const leastWidth = 20;
export const leastHeight = 5;

/**
 * Lays out a window: the user's panes keep their arrangement, in one part, and
 * the agents' panes share the rest evenly. Undefined if they do not fit.
 * @param own the user's part now; undefined if all panes are agents'
 * @param agents the number of the other panes
 */
export function planLayout(
  window: Size,
  own: Cell | undefined,
  agents: number
): Cell | undefined {
  const { width, height } = window;
  if (!own) return grid(agents, width, height);
  const least = leastOf(own);
  if (least.width > width || least.height > height) return undefined;
  if (agents === 0) return scale(own, width, height);
  const widths = around(preferredSize(own, agents, width), width).filter(
    (w) => w >= least.width
  );
  const heights = around(preferredSize(own, agents, height), height).filter(
    (h) => h >= least.height
  );
  const onTheLeft = (w: number): Cell | undefined => {
    const rest = grid(agents, width - w - 1, height);
    return (
      rest && divide('across', width, height, [scale(own, w, height), rest])
    );
  };
  const onTop = (h: number): Cell | undefined => {
    const rest = grid(agents, width, height - h - 1);
    return rest && divide('down', width, height, [scale(own, width, h), rest]);
  };
  return (
    best(own, [
      ...widths.map((w) => () => onTheLeft(w)),
      ...heights.map((h) => () => onTop(h))
    ]) ?? crowd(window, own, agents, widths)
  );
}

/** The layout of these panes alone; its cells keep their sizes. */
export function prune(cell: Cell, panes: Set<number>): Cell | undefined {
  if (cell.cells.length === 0)
    return cell.pane !== undefined && panes.has(cell.pane) ? cell : undefined;
  const cells = cell.cells.flatMap((part) => prune(part, panes) ?? []);
  if (cells.length === 0 || !cell.direction) return undefined;
  return divide(cell.direction, cell.width, cell.height, cells);
}

/** The preferred size of the user's part: a half, or less for many agents. */
function preferredSize(own: Cell, agents: number, length: number): number {
  const panes = leavesOf(own).length;
  const part = Math.min(1 / 2, Math.max(1 / 3, panes / (panes + agents)));
  return Math.floor((length - 1) * part);
}

/** All sizes within a length, the nearest to the preferred one first. */
function around(preferred: number, length: number): number[] {
  const all = Array.from({ length: length - 1 }, (_, index) => index + 1);
  return all.sort((a, b) => Math.abs(a - preferred) - Math.abs(b - preferred));
}

/** Lays out a full window: some agents' panes go below the user's part. */
function crowd(
  { width, height }: Size,
  own: Cell,
  agents: number,
  widths: number[]
): Cell | undefined {
  const least = leastOf(own);
  const below = (count: number, w: number): Cell | undefined => {
    const rows = Math.ceil(count / Math.floor((w + 1) / (leastWidth + 1)));
    const above = height - rows * (leastHeight + 1);
    const rest = grid(count, w, height - above - 1);
    if (!rest || above < least.height) return undefined;
    const left = divide('down', w, height, [scale(own, w, above), rest]);
    const right = grid(agents - count, width - w - 1, height);
    return right && divide('across', width, height, [left, right]);
  };
  const counts = Array.from({ length: agents - 1 }, (_, index) => index + 1);
  return best(
    own,
    counts.flatMap((count) => widths.map((w) => () => below(count, w)))
  );
}

/** The first layout in which larger panes stay larger, else the first. */
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

/** Equal cells, shaped about like a terminal; undefined if too small. */
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
  const along = (one: Size) => (across ? one.width : one.height);
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

/** The minimum size of a cell. A pane that the user shrank may stay small. */
function leastOf(cell: Cell): Size {
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
 * Divides a length by weight, with a line between the parts. A larger weight
 * gets at least as much, unless another part needs its minimum size.
 */
function share(length: number, weights: number[], least: number[] = []) {
  const free = length - weights.length + 1;
  const all = weights.map((_, index) => index);
  const sizes = all.map((index) => least[index] ?? 1);
  const sizeOf = (index: number) => sizes[index] ?? 0;
  const weightOf = (index: number) => weights[index] ?? 0;
  const sum = (indexes: number[], value: (index: number) => number) =>
    indexes.reduce((total, index) => total + value(index), 0);
  let open = all;
  for (;;) {
    const fixed = all.filter((index) => !open.includes(index));
    const left = free - sum(fixed, sizeOf);
    const weight = sum(open, weightOf);
    const part = (index: number) => (left * weightOf(index)) / weight;
    const small = open.filter((index) => part(index) < sizeOf(index));
    if (small.length === 0) {
      for (const index of open) sizes[index] = Math.floor(part(index));
      break;
    }
    open = open.filter((index) => !small.includes(index));
  }
  const largest = [...open].sort((a, b) => weightOf(b) - weightOf(a));
  const missing = free - sum(all, sizeOf);
  for (const index of largest.slice(0, missing))
    sizes[index] = sizeOf(index) + 1;
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

/**
 * Reads tmux's notation of a layout, such as
 * `<checksum>,120x36,0,0{60x36,0,0,1,59x36,61,0,2}`: in braces, cells from left
 * to right; in brackets, from top to bottom. A pane ends with its number.
 * Undefined for text in any other notation.
 */
export function parseLayout(text: string): Cell | undefined {
  const body = /^[0-9a-f]{4},(.*)$/.exec(text)?.[1];
  if (body === undefined) return undefined;
  const [cell, rest] = parseCell(body) ?? [];
  return rest === '' ? cell : undefined;
}

/** Writes tmux's notation. `numbers` replace the panes' own numbers. */
export function formatLayout(layout: Cell, numbers?: number[]): string {
  const left = numbers ?? leavesOf(layout).map(({ pane }) => pane ?? 0);
  const body = formatCell(layout, 0, 0, [...left]);
  return `${checksum(body)},${body}`;
}

/** The panes of a layout, in order. */
export function leavesOf(cell: Cell): Cell[] {
  return cell.cells.length === 0 ? [cell] : cell.cells.flatMap(leavesOf);
}

/** A divided cell; a single part becomes the cell itself. */
export function divide(
  direction: Direction,
  width: number,
  height: number,
  parts: Cell[]
): Cell {
  const [only] = parts;
  if (parts.length === 1 && only) return { ...only, width, height };
  const cells = parts.flatMap((part) =>
    part.direction === direction ? part.cells : [part]
  );
  return { width, height, direction, cells };
}

function parseCell(text: string): [cell: Cell, rest: string] | undefined {
  const head = /^(\d+)x(\d+),\d+,\d+(?:,(\d+)|([{[]))/.exec(text);
  if (!head) return undefined;
  const [whole, width, height, pane, open] = head;
  const size = { width: Number(width), height: Number(height) };
  let rest = text.slice(whole.length);
  if (open === undefined)
    return [{ ...size, pane: Number(pane), cells: [] }, rest];
  const close = open === '{' ? '}' : ']';
  const cells: Cell[] = [];
  for (;;) {
    const [cell, after] = parseCell(rest) ?? [];
    if (!cell || after === undefined) return undefined;
    cells.push(cell);
    rest = after.slice(1);
    if (after.startsWith(close)) break;
    if (!after.startsWith(',')) return undefined;
  }
  const direction = open === '{' ? 'across' : 'down';
  return [{ ...size, direction, cells }, rest];
}

function formatCell(
  cell: Cell,
  left: number,
  top: number,
  numbers: number[]
): string {
  const head = `${cell.width}x${cell.height},${left},${top}`;
  if (cell.cells.length === 0) return `${head},${numbers.shift() ?? 0}`;
  let offset = 0;
  const parts = cell.cells.map((part) => {
    const at = offset;
    const across = cell.direction === 'across';
    offset += (across ? part.width : part.height) + 1;
    return across
      ? formatCell(part, left + at, top, numbers)
      : formatCell(part, left, top + at, numbers);
  });
  return cell.direction === 'across'
    ? `${head}{${parts.join(',')}}`
    : `${head}[${parts.join(',')}]`;
}

function checksum(body: string): string {
  let sum = 0;
  for (const byte of Buffer.from(body)) {
    sum = (sum >> 1) + ((sum & 1) << 15);
    sum = (sum + byte) & 0xffff;
  }
  return sum.toString(16).padStart(4, '0');
}
