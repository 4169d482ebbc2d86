import { appendFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../testing/temp-workspace.ts';
import { until } from '../../testing/until.ts';
import { Watch } from './watch.ts';

let workspace: TempWorkspace;
let watch: Watch;
let told: string[];

beforeEach(() => {
  workspace = createTempWorkspace();
  watch = new Watch(10);
  told = [];
});

afterEach(() => {
  watch.end();
  workspace.remove();
});

/** Watches a file; what is told is its name. */
function follow(
  name: string,
  tell: () => Promise<void> = async () => void told.push(name)
) {
  const path = workspace.write(name, '');
  watch.add(name, { stamp: () => String(statSync(path).size), tell });
  return path;
}

const toldOf = (...names: string[]) =>
  until(
    `word of ${names}`,
    () => names.every((name) => told.includes(name)) || undefined
  );

/** Two words of something that always changes. */
async function twoTicks(watch: Watch): Promise<void> {
  let looks = 0;
  let ticks = 0;
  watch.add('clock', {
    stamp: () => {
      looks += 1;
      return String(looks);
    },
    tell: async () => {
      ticks += 1;
    }
  });
  await until('two ticks', () => ticks >= 2 || undefined);
}

describe('a watch', () => {
  test('tells what has changed, and nothing else', async () => {
    const one = follow('one');
    const two = follow('two');
    appendFileSync(one, 'x');
    await toldOf('one');
    appendFileSync(two, 'x');
    await toldOf('two');
    expect(told).toEqual(['one', 'two']);
  });

  test('tells all of a thousand that change, each once', async () => {
    const names = Array.from({ length: 1000 }, (_, index) => `file-${index}`);
    const paths = names.map((name) => follow(name));
    for (const path of paths) appendFileSync(path, 'x');
    await toldOf(...names);
    expect(told.toSorted()).toEqual(names.toSorted());
  });

  test('tells of many changes of one thing ten times a second at most', async () => {
    const path = follow('busy');
    const last = follow('last');
    const began = performance.now();
    while (performance.now() - began < 450) {
      appendFileSync(path, 'x');
      await nextTurn();
    }
    appendFileSync(last, 'x');
    await toldOf('last');
    const most = 1 + (performance.now() - began) / 100;
    const busy = told.filter((name) => name === 'busy');
    expect(busy.length).toBeGreaterThan(0);
    expect(busy.length).toBeLessThanOrEqual(most);
  });

  test('tells the last of many changes, too', async () => {
    let size = 0;
    const path = workspace.write('busy', '');
    watch.add('busy', {
      stamp: () => String(statSync(path).size),
      tell: async () => {
        size = statSync(path).size;
      }
    });
    for (let times = 0; times < 100; times += 1) {
      appendFileSync(path, 'x');
      await nextTurn();
    }
    await until('word of the last change', () => size === 100 || undefined);
  });

  test('does not tell the same again to one who has not heard it yet', async () => {
    let hear = (): void => undefined;
    const path = follow('slow', () => {
      told.push('slow');
      return new Promise<void>((resolve) => {
        hear = resolve;
      });
    });
    appendFileSync(path, 'x');
    await toldOf('slow');
    appendFileSync(path, 'x');
    // By then it would have been told again.
    await twoTicks(watch);
    expect(told).toEqual(['slow']);
    hear();
    await until(
      'the second word',
      () => told.filter((name) => name === 'slow').length === 2 || undefined
    );
  });

  test('goes on when one cannot be told, or cannot be looked at', async () => {
    const deaf = follow('deaf', async () => {
      told.push('deaf');
      throw new Error('nobody there');
    });
    const gone = follow('gone');
    appendFileSync(deaf, 'x');
    rmSync(gone);
    await toldOf('deaf', 'gone');
    const after = follow('after');
    appendFileSync(after, 'x');
    await toldOf('after');
    expect(told.filter((name) => name === 'gone')).toEqual(['gone']);
  });

  test('does not look at what was taken off it', async () => {
    const one = follow('one');
    const two = follow('two');
    watch.remove('one');
    appendFileSync(one, 'x');
    appendFileSync(two, 'x');
    await toldOf('two');
    expect(told).toEqual(['two']);
  });

  test('looks at nothing after its end, whatever is added', async () => {
    let looks = 0;
    watch.end();
    watch.add('late', {
      stamp: () => {
        looks += 1;
        return String(looks);
      },
      tell: async () => undefined
    });
    const other = new Watch(10);
    await twoTicks(other).finally(() => other.end());
    expect(looks).toBe(0);
  });

  test('looks at nothing while there is nothing, and again when there is', async () => {
    let looks = 0;
    const path = join(workspace.path, 'file');
    const subject = {
      stamp: () => {
        looks += 1;
        return String(statSync(path, { throwIfNoEntry: false })?.size);
      },
      tell: async () => void told.push('file')
    };
    watch.add('file', subject);
    watch.remove('file');
    const before = looks;
    const other = new Watch(10);
    await twoTicks(other).finally(() => other.end());
    expect(looks).toBe(before);
    watch.add('file', subject);
    appendFileSync(path, 'x');
    await toldOf('file');
  });
});
