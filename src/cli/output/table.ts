import { terminalLine } from '../../core/text.ts';
import { colorsFor } from './output.ts';
import { shorten, widthOf } from './text.ts';

/** An untrusted text, plain or with a color. It is shown on one line. */
export type Cell = string | { text: string; color: (text: string) => string };

/** A heading, and how its column shrinks. */
export interface Column extends Shrinking {
  heading: string;
  align?: 'right';
  /** The minimum width, so that tables printed one by one are aligned. */
  padTo?: number;
}

/** The minimum width of a last column that sets none. */
const minLastWidth = 20;

/** Aligned columns under a heading. */
export function table(head: (string | Column)[], rows: Cell[][]): string {
  const { dim } = colorsFor(process.stdout);
  const columns = head.map(columnOf);
  const headings = columns.map(({ heading }) => ({
    text: heading,
    color: dim
  }));
  return alignedRows(columns, [headings, ...rows]);
}

/**
 * Aligned columns. On a terminal they are cut, and the least important ones
 * are left out, so that each line fits; in a pipe they are whole.
 */
export function alignedRows(
  columns: Column[],
  lines: Cell[][],
  room = roomOn(process.stdout)
): string {
  const clean = lines.map((line) => line.map(onOneLine));
  const sized = columns.map((column, index) => ({
    ...column,
    width: Math.max(
      column.padTo ?? 0,
      widest(clean.map((line) => line[index] ?? ''))
    )
  }));
  const widths = fitColumns(sized, room);
  return clean
    .map((line) => {
      const cells = columns.flatMap(({ align }, index) => {
        const width = widths[index];
        if (width === undefined) return [];
        return [placed(line[index] ?? '', width, align)];
      });
      return `${cells.join(gap).trimEnd()}\n`;
    })
    .join('');
}

/** Aligned columns without headings; the last can be cut. */
export function columns(lines: Cell[][]): string {
  const [first = []] = lines;
  return alignedRows(
    first.map((_, index) => columnOf('', index, first)),
    lines
  );
}

function columnOf(
  column: string | Column,
  index: number,
  all: unknown[]
): Column {
  if (typeof column !== 'string') return column;
  const isLast = index === all.length - 1;
  return { heading: column, ...(isLast ? { minWidth: minLastWidth } : {}) };
}

/** Unlimited in a pipe; 80 on a terminal that does not report its width. */
function roomOn({ isTTY, columns }: NodeJS.WriteStream): number {
  return isTTY ? columns || 80 : Number.POSITIVE_INFINITY;
}

function onOneLine(cell: Cell): Cell {
  return typeof cell === 'string'
    ? terminalLine(cell)
    : { ...cell, text: terminalLine(cell.text) };
}

/** Not with Math.max, because the number of arguments of a call is limited. */
function widest(cells: Cell[]): number {
  return cells.reduce(
    (width, cell) => Math.max(width, widthOf(textOf(cell))),
    0
  );
}

function textOf(cell: Cell): string {
  return typeof cell === 'string' ? cell : cell.text;
}

function placed(cell: Cell, width: number, align?: 'right'): string {
  const text = shorten(textOf(cell), width);
  const rest = ' '.repeat(Math.max(0, width - widthOf(text)));
  const shown = typeof cell === 'string' ? text : cell.color(text);
  return align === 'right' ? `${rest}${shown}` : `${shown}${rest}`;
}

/** How a column shrinks on a terminal that is too narrow. */
interface Shrinking {
  /** The width that it can be cut to; without it, it is never cut. */
  minWidth?: number;
  /**
   * If cutting is not enough, the column with the lowest number is left out
   * first; without it, it always stays.
   */
  dropOrder?: number;
}

interface SizedColumn extends Shrinking {
  /** The width of its widest cell. */
  width: number;
}

export const gap = '  ';

/**
 * The width of each column in a line of at most `room` columns, undefined for
 * a column that is left out. Columns that cannot be cut keep their width.
 */
export function fitColumns(
  sized: SizedColumn[],
  room: number
): (number | undefined)[] {
  const stays = new Set(sized);
  while (lengthOf([...stays].map(minWidthOf)) > room) {
    const [first] = [...stays]
      .filter(({ dropOrder }) => dropOrder !== undefined)
      .sort((a, b) => (a.dropOrder ?? 0) - (b.dropOrder ?? 0));
    if (!first) break;
    stays.delete(first);
  }
  const widths = cutWidest([...stays], room);
  return sized.map((column) => widths.get(column));
}

function cutWidest(
  columns: SizedColumn[],
  room: number
): Map<SizedColumn, number> {
  const widths = new Map(
    columns.map((column) => [
      column,
      // Cutting a line of megabytes character by character would take too long.
      Math.max(minWidthOf(column), Math.min(column.width, room))
    ])
  );
  for (;;) {
    if (lengthOf([...widths.values()]) <= room) return widths;
    const [widest] = [...widths]
      .filter(([column, width]) => width > minWidthOf(column))
      .sort(([, a], [, b]) => b - a);
    if (!widest) return widths;
    const [column, width] = widest;
    widths.set(column, width - 1);
  }
}

function minWidthOf({ width, minWidth = width }: SizedColumn): number {
  return Math.min(width, minWidth);
}

function lengthOf(widths: number[]): number {
  const gaps = gap.length * Math.max(0, widths.length - 1);
  return widths.reduce((total, width) => total + width, gaps);
}
