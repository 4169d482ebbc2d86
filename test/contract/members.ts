import assert from 'node:assert/strict';
import { pluginShapes } from '../../src/core/engines/engine-shape.ts';
import type { Engine } from '../../src/plugin/plugin.ts';
import type { Check } from './check.ts';

/**
 * Members of an engine's own are allowed, so one that is misspelled loads as
 * well, and does nothing.
 */
export function memberChecks(engine: Engine): Check[] {
  return [
    {
      title: 'misspells no member of the contract',
      run: () => {
        for (const [path, value, names] of objectsOf(engine))
          for (const own of Object.keys(value)) {
            const meant = names.includes(own)
              ? undefined
              : names.find((name) => isNear(own, name));
            assert.equal(
              meant,
              undefined,
              `${path}${own} is not a member of the contract: did you mean ${path}${meant}?`
            );
          }
      }
    }
  ];
}

/** The objects of an engine that the contract knows, with their members. */
function objectsOf(engine: Engine): [string, object, string[]][] {
  const [cli, api] = pluginShapes().engine.options;
  const shape = engine.kind === 'cli' ? cli.shape : api.shape;
  const inner =
    engine.kind === 'cli'
      ? ([
          ['env.', engine.env, cli.shape.env],
          ['probe.', engine.probe, cli.shape.probe],
          ['interactive.', engine.interactive, cli.shape.interactive]
        ] as const)
      : [];
  const models = Object.keys(shape.models.unwrap().shape);
  return [
    ['', engine, Object.keys(shape)],
    ['models.', engine.models ?? {}, models],
    ...inner.map(([path, value, part]): [string, object, string[]] => [
      path,
      value ?? {},
      Object.keys(part.unwrap().shape)
    ])
  ];
}

/** One slip away, or two in a long word. */
function isNear(word: string, name: string): boolean {
  if (word.toLowerCase() === name.toLowerCase()) return true;
  return slips(word, name) <= (name.length > 6 ? 2 : 1);
}

/** Letters to be changed, added or left out to make one word of another. */
function slips(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, index) => index);
  for (const letter of one) {
    const next = [(row[0] ?? 0) + 1];
    for (let index = 1; index < row.length; index += 1) {
      const replaced =
        (row[index - 1] ?? 0) + Number(letter !== other[index - 1]);
      const fewest = Math.min(row[index] ?? 0, next[index - 1] ?? 0) + 1;
      next.push(Math.min(replaced, fewest));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}
