import { colorsFor } from './output.ts';
import { shorten, widthOf } from './text.ts';

/** A text, or a text with its colour. */
export type Cell = string | { text: string; color: (text: string) => string };

const gap = '  ';
const narrowestLast = 20;

/** Aligned columns under a heading. */
export function table(heading: string[], rows: Cell[][]): string {
  const { dim } = colorsFor(process.stdout);
  return columns([heading.map((text) => ({ text, color: dim })), ...rows]);
}

/**
 * Aligned columns. On a terminal the last one is cut to the width there is;
 * in a pipe nothing is.
 */
export function columns(lines: Cell[][], minimum: number[] = []): string {
  const widths = (lines[0] ?? []).map((_, column) =>
    Math.max(
      minimum[column] ?? 0,
      ...lines.map((line) => widthOf(textOf(line[column] ?? '')))
    )
  );
  const before = widths.slice(0, -1);
  const room = process.stdout.isTTY
    ? process.stdout.columns - sum(before) - gap.length * before.length
    : Number.POSITIVE_INFINITY;
  const last = Math.max(narrowestLast, room);
  const cells = (line: Cell[]) =>
    line.map((cell, column) =>
      column < before.length
        ? inColor(cell, textOf(cell).padEnd(padOf(cell, widths[column] ?? 0)))
        : inColor(cell, shorten(textOf(cell), last))
    );
  return lines.map((line) => `${cells(line).join(gap).trimEnd()}\n`).join('');
}

function textOf(cell: Cell): string {
  return typeof cell === 'string' ? cell : cell.text;
}

function inColor(cell: Cell, text: string): string {
  return typeof cell === 'string' ? text : cell.color(text);
}

/** `padEnd` counts code units; the eye counts columns. */
function padOf(cell: Cell, width: number): number {
  const text = textOf(cell);
  return width + text.length - widthOf(text);
}

function sum(numbers: number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
