import { appendFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { until } from '../../../../test/kit/judges/until.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../../../test/kit/workspaces/temp-workspace.ts';
import { Watch } from './subscriptions.ts';

let workspace: TempWorkspace;
let watch: Watch;
let notified: string[];

beforeEach(() => {
  workspace = createTempWorkspace();
  watch = new Watch(10);
  notified = [];
});

afterEach(() => {
  watch.end();
  workspace.remove();
});

/** Watches a file; a notification is its name. */
function follow(
  name: string,
  notify: () => Promise<void> = async () => void notified.push(name)
) {
  const path = workspace.write(name, '');
  watch.add(name, { stamp: () => String(statSync(path).size), notify });
  return path;
}

const notifiedOf = (...names: string[]) =>
  until(
    `notifications about ${names}`,
    () => names.every((name) => notified.includes(name)) || undefined
  );

/** Waits for two notifications about a subject that always changes. */
async function twoTicks(watch: Watch): Promise<void> {
  let reads = 0;
  let ticks = 0;
  watch.add('clock', {
    stamp: () => {
      reads += 1;
      return String(reads);
    },
    notify: async () => {
      ticks += 1;
    }
  });
  await until('two ticks', () => ticks >= 2 || undefined);
}

describe('a watch', () => {
  test('reports only subjects that changed', async () => {
    const one = follow('one');
    const two = follow('two');
    appendFileSync(one, 'x');
    await notifiedOf('one');
    appendFileSync(two, 'x');
    await notifiedOf('two');
    expect(notified).toEqual(['one', 'two']);
  });

  test('reports each of a thousand changes once', async () => {
    const names = Array.from({ length: 1000 }, (_, index) => `file-${index}`);
    const paths = names.map((name) => follow(name));
    for (const path of paths) appendFileSync(path, 'x');
    await notifiedOf(...names);
    expect(notified.toSorted()).toEqual(names.toSorted());
  });

  test('reports one subject at most ten times a second', async () => {
    const path = follow('busy');
    const last = follow('last');
    const began = performance.now();
    while (performance.now() - began < 450) {
      appendFileSync(path, 'x');
      await nextTurn();
    }
    appendFileSync(last, 'x');
    await notifiedOf('last');
    const most = 1 + (performance.now() - began) / 100;
    const busy = notified.filter((name) => name === 'busy');
    expect(busy.length).toBeGreaterThan(0);
    expect(busy.length).toBeLessThanOrEqual(most);
  });

  test('reports the last of many changes', async () => {
    let size = 0;
    const path = workspace.write('busy', '');
    watch.add('busy', {
      stamp: () => String(statSync(path).size),
      notify: async () => {
        size = statSync(path).size;
      }
    });
    for (let times = 0; times < 100; times += 1) {
      appendFileSync(path, 'x');
      await nextTurn();
    }
    await until(
      'a notification about the last change',
      () => size === 100 || undefined
    );
  });

  test('does not report a change again while the client has not read the first report', async () => {
    let settle = (): void => undefined;
    const path = follow('slow', () => {
      notified.push('slow');
      return new Promise<void>((resolve) => {
        settle = resolve;
      });
    });
    appendFileSync(path, 'x');
    await notifiedOf('slow');
    appendFileSync(path, 'x');
    // By then, a second notification would have been sent.
    await twoTicks(watch);
    expect(notified).toEqual(['slow']);
    settle();
    await until(
      'the second notification',
      () => notified.filter((name) => name === 'slow').length === 2 || undefined
    );
  });

  test('goes on when a notification or a poll fails', async () => {
    const failing = follow('failing', async () => {
      notified.push('failing');
      throw new Error('The client is gone.');
    });
    const gone = follow('gone');
    appendFileSync(failing, 'x');
    rmSync(gone);
    await notifiedOf('failing', 'gone');
    const after = follow('after');
    appendFileSync(after, 'x');
    await notifiedOf('after');
    expect(notified.filter((name) => name === 'gone')).toEqual(['gone']);
  });

  test('does not poll a removed subject', async () => {
    const one = follow('one');
    const two = follow('two');
    watch.remove('one');
    appendFileSync(one, 'x');
    appendFileSync(two, 'x');
    await notifiedOf('two');
    expect(notified).toEqual(['two']);
  });

  test('reports changes once after the client was without a stream', async () => {
    let canNotify = false;
    const paused = new Watch(10, () => canNotify);
    const path = workspace.write('file', '');
    const stamp = () => String(statSync(path).size);
    paused.add('file', {
      stamp,
      notify: async () => void notified.push('file')
    });
    for (const text of ['x', 'y']) {
      appendFileSync(path, text);
      await twoTicks(watch);
      watch.remove('clock');
    }
    expect(notified).toEqual([]);
    canNotify = true;
    await notifiedOf('file');
    await twoTicks(watch);
    paused.end();
    expect(notified).toEqual(['file']);
  });

  test('polls nothing after its end', async () => {
    let reads = 0;
    watch.end();
    watch.add('late', {
      stamp: () => {
        reads += 1;
        return String(reads);
      },
      notify: async () => undefined
    });
    const other = new Watch(10);
    await twoTicks(other).finally(() => other.end());
    expect(reads).toBe(0);
  });

  test('stops polling without subjects, and starts again with the next one', async () => {
    let reads = 0;
    const path = join(workspace.path, 'file');
    const subject = {
      stamp: () => {
        reads += 1;
        return String(statSync(path, { throwIfNoEntry: false })?.size);
      },
      notify: async () => void notified.push('file')
    };
    watch.add('file', subject);
    watch.remove('file');
    const before = reads;
    const other = new Watch(10);
    await twoTicks(other).finally(() => other.end());
    expect(reads).toBe(before);
    watch.add('file', subject);
    appendFileSync(path, 'x');
    await notifiedOf('file');
  });
});
