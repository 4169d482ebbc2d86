import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  type Cell,
  divide,
  formatLayout,
  leastHeight,
  leastWidth,
  leavesOf,
  parseLayout,
  planLayout,
  prune
} from './pane-layout.ts';

/** Layouts as users make them, by repeated splits. */
function arrangement(
  width: number,
  height: number,
  depth: number,
  least: { width: number; height: number }
): fc.Arbitrary<Cell> {
  const leaf = fc.constant<Cell>({ width, height, pane: 0, cells: [] });
  const ways = [leaf];
  const part = (w: number, h: number) => arrangement(w, h, depth - 1, least);
  const at = (length: number, least: number) =>
    fc.integer({ min: least, max: length - least - 1 });
  if (depth > 0 && width > 2 * least.width)
    ways.push(
      at(width, least.width).chain((w) =>
        fc
          .tuple(part(w, height), part(width - w - 1, height))
          .map((cells) => divide('across', width, height, cells))
      )
    );
  if (depth > 0 && height > 2 * least.height)
    ways.push(
      at(height, least.height).chain((h) =>
        fc
          .tuple(part(width, h), part(width, height - h - 1))
          .map((cells) => divide('down', width, height, cells))
      )
    );
  return fc.oneof(...ways);
}

/** Numbers the panes in order. */
function numbered(cell: Cell): Cell {
  const numbers = leavesOf(cell).map((_, index) => index);
  return parse(formatLayout(cell, numbers));
}

const [width, height] = [160, 48];
const own = arrangement(width, height, 4, { width: 8, height: 4 }).map(
  numbered
);
const usual = arrangement(width, height, 2, { width: 20, height: 6 }).map(
  numbered
);

test('a layout of tmux is read and written unchanged', () => {
  for (const text of [
    'c0fd,120x36,0,0,0',
    'dc50,120x36,0,0[120x33,0,0{60x33,0,0,0,59x33,61,0,1},120x2,0,34,2]'
  ])
    expect(formatLayout(parse(text))).toBe(text);
});

test('other text is not read as a layout', () => {
  for (const text of [
    '',
    'dc50',
    '120x36,0,0,0',
    'c0fd,120x36,0,0{60x36,0,0,0',
    'c0fd,120x36,0,0,0]',
    'c0fd,120x36,0,0<60x36,0,0,0>'
  ])
    expect(parseLayout(text)).toBeUndefined();
});

describe('a planned layout', () => {
  test("has no gap, starts with the user's panes, and gives each pane enough room", () => {
    fc.assert(
      fc.property(own, fc.integer({ min: 0, max: 12 }), (cell, others) => {
        const plan = planLayout({ width, height }, cell, others);
        fc.pre(plan !== undefined);
        const leaves = leavesOf(plan);
        const users = leavesOf(cell).map(({ pane }) => pane);
        expect(leaves.slice(0, users.length).map(({ pane }) => pane)).toEqual(
          users
        );
        expect(leaves).toHaveLength(users.length + others);
        expect([plan.width, plan.height]).toEqual([width, height]);
        expectWhole(plan);
        for (const leaf of leaves.slice(users.length)) {
          expect(leaf.width).toBeGreaterThanOrEqual(leastWidth);
          expect(leaf.height).toBeGreaterThanOrEqual(leastHeight);
        }
        expect(formatLayout(parse(formatLayout(plan)))).toBe(
          formatLayout(plan)
        );
      })
    );
  });

  test("restores the user's part when the agents are gone", () => {
    fc.assert(
      fc.property(own, (cell) => {
        const plan = planLayout({ width, height }, cell, 0);
        expect(plan).toEqual(cell);
      })
    );
  });

  test('keeps larger panes at least as large', () => {
    fc.assert(
      fc.property(usual, fc.integer({ min: 1, max: 6 }), (cell, others) => {
        const plan = planLayout({ width, height }, cell, others);
        fc.pre(plan !== undefined);
        const before = leavesOf(cell).map(areaOf);
        const after = leavesOf(plan).map(areaOf);
        for (const [i, one] of before.entries())
          for (const [j, other] of before.entries())
            if (one > other)
              expect(after[i]).toBeGreaterThanOrEqual(after[j] ?? 0);
      }),
      { seed: 1, numRuns: 500 }
    );
  });

  test("finds the user's part again among the agents", () => {
    fc.assert(
      fc.property(own, fc.integer({ min: 1, max: 6 }), (cell, others) => {
        const plan = planLayout({ width, height }, cell, others);
        fc.pre(plan !== undefined);
        const users = leavesOf(cell).length;
        const numbers = leavesOf(plan).map((_, index) => index);
        const shown = parse(formatLayout(plan, numbers));
        const found = prune(shown, new Set(numbers.slice(0, users)));
        expect(shapeOf(found)).toEqual(shapeOf(cell));
      })
    );
  });

  test("is none where the agents leave the user's part too little room", () => {
    const plan = (text: string, agents: number) => {
      const cell = parse(text);
      return planLayout(cell, cell, agents);
    };
    expect(plan('acdd,81x13,0,0,0', 5)).toBeDefined();
    expect(plan('acdd,81x13,0,0,0', 6)).toBeUndefined();
    const two =
      'add0,70x16,0,0[70x10,0,0{35x10,0,0,0,34x10,36,0,1},70x5,0,11,2]';
    expect(plan(two, 8)).toBeUndefined();
  });

  test('fills the window evenly if it has no pane of the user', () => {
    const plan = planLayout({ width: 220, height: 50 }, undefined, 12);
    const leaves = plan ? leavesOf(plan) : [];
    expect(leaves).toHaveLength(12);
    const areas = leaves.map((leaf) => leaf.width * leaf.height);
    expect(Math.max(...areas) / Math.min(...areas)).toBeLessThan(1.2);
  });
});

function parse(text: string): Cell {
  const cell = parseLayout(text);
  if (!cell) throw new Error(`No layout: ${text}`);
  return cell;
}

function areaOf(cell: Cell): number {
  return cell.width * cell.height;
}

/** Checks that parts and the lines between them add up to the whole. */
function expectWhole(cell: Cell): void {
  if (cell.cells.length === 0) return;
  const across = cell.direction === 'across';
  const along = (one: Cell) => (across ? one.width : one.height);
  const over = (one: Cell) => (across ? one.height : one.width);
  const sum = cell.cells.reduce((total, part) => total + along(part) + 1, -1);
  expect(sum).toBe(along(cell));
  for (const part of cell.cells) {
    expect(over(part)).toBe(over(cell));
    expectWhole(part);
  }
}

function shapeOf(cell: Cell | undefined): unknown {
  return cell && [cell.direction, cell.pane, cell.cells.map(shapeOf)];
}
