import { fitColumns, gap, type Yielding } from './fit-columns.ts';
import { colorsFor } from './output.ts';
import { oneLine, shorten, widthOf } from './text.ts';

/** A text from anywhere, or one with its colour: it is shown on one line. */
export type Cell = string | { text: string; color: (text: string) => string };

/** A heading, and what becomes of its column where there is little room. */
export interface Column extends Yielding {
  heading: string;
  /** Numbers are read from the right. */
  align?: 'right';
  /** At least so wide, so that tables printed one by one are aligned. */
  minimum?: number;
}

/** The last of columns that do not say how far they can be cut. */
const leastOfLast = 20;

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
 * Aligned columns. On a terminal they are cut, and those of least worth left
 * out, so that each line fits; in a pipe they are whole.
 */
export function alignedRows(
  columns: Column[],
  lines: Cell[][],
  room = roomOn(process.stdout)
): string {
  const calm = lines.map((line) => line.map(onOneLine));
  const wanting = columns.map((column, index) => ({
    ...column,
    width: Math.max(
      column.minimum ?? 0,
      widest(calm.map((line) => line[index] ?? ''))
    )
  }));
  const widths = fitColumns(wanting, room);
  return calm
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

/** Aligned columns without headings, of which the last can be cut. */
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
  return { heading: column, ...(isLast ? { least: leastOfLast } : {}) };
}

/** Some terminals do not say how wide they are. */
function roomOn({ isTTY, columns }: NodeJS.WriteStream): number {
  return isTTY ? columns || 80 : Number.POSITIVE_INFINITY;
}

function onOneLine(cell: Cell): Cell {
  return typeof cell === 'string'
    ? oneLine(cell)
    : { ...cell, text: oneLine(cell.text) };
}

/** There may be more cells than a call can have arguments. */
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
