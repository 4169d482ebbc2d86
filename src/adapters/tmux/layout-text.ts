/**
 * tmux' own notation for how panes share a window:
 * `<checksum>,120x36,0,0{60x36,0,0,1,59x36,61,0,2}`. Braces stand side by
 * side, brackets one below the other; a pane ends with its number. One column
 * or row between two cells is the line.
 */
export interface Cell {
  width: number;
  height: number;
  /** Of a pane; undefined for one that is still to come. */
  pane?: number;
  /** Of a cell that is divided. */
  direction?: Direction;
  cells: Cell[];
}

export type Direction = 'across' | 'down';

/** Undefined when it is none, or of a notation that we do not know. */
export function parseLayout(text: string): Cell | undefined {
  const body = /^[0-9a-f]{4},(.*)$/.exec(text)?.[1];
  if (body === undefined) return undefined;
  const [cell, rest] = parseCell(body) ?? [];
  return rest === '' ? cell : undefined;
}

/** Writes a layout down, for panes with these numbers when they are given. */
export function formatLayout(layout: Cell, numbers?: number[]): string {
  const left = numbers ?? leavesOf(layout).map(({ pane }) => pane ?? 0);
  const body = formatCell(layout, 0, 0, [...left]);
  return `${checksum(body)},${body}`;
}

/** The panes of a layout, in order. */
export function leavesOf(cell: Cell): Cell[] {
  return cell.cells.length === 0 ? [cell] : cell.cells.flatMap(leavesOf);
}

/** Divides a cell; one part alone is the cell itself. */
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
