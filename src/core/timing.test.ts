import { setImmediate as nextTurn } from 'node:timers/promises';
import {
  afterEach,
  beforeEach,
  describe,
  expect,
  onTestFinished,
  test,
  vi
} from 'vitest';
import { poll, SharedRounds, Throttle } from './timing.ts';

describe('recurring work', () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });

  afterEach(() => {
    vi.useRealTimers();
  });

  test('runs after each pause until it is ended', async () => {
    const work = vi.fn(async () => undefined);
    const end = poll(700, work, vi.fn());
    await vi.advanceTimersByTimeAsync(699);
    expect(work).toHaveBeenCalledTimes(0);
    await vi.advanceTimersByTimeAsync(1401);
    expect(work).toHaveBeenCalledTimes(3);

    end();
    await vi.advanceTimersByTimeAsync(5000);
    expect(work).toHaveBeenCalledTimes(3);
  });

  test('never overlaps itself, and ends even while a round is running', async () => {
    let finish = () => {};
    const work = vi.fn(
      () =>
        new Promise<void>((resolve) => {
          finish = resolve;
        })
    );
    const end = poll(100, work, vi.fn());
    await vi.advanceTimersByTimeAsync(1000);
    expect(work).toHaveBeenCalledTimes(1);

    end();
    finish();
    await vi.advanceTimersByTimeAsync(1000);
    expect(work).toHaveBeenCalledTimes(1);
  });

  test('goes on after a failure, and reports equal failures once', async () => {
    const problems = ['one', 'one', 'two'].map((words) => new Error(words));
    let count = 0;
    const work = vi.fn(async () => {
      const problem = problems[count];
      count += 1;
      if (problem) throw problem;
    });
    const onProblem = vi.fn();
    const end = poll(100, work, onProblem);
    await vi.advanceTimersByTimeAsync(500);
    end();
    expect(work).toHaveBeenCalledTimes(5);
    expect(onProblem.mock.calls).toEqual([[problems[0]], [problems[2]]]);
  });
});

describe('a throttle', () => {
  test('lets the first piece run at once and then one a turn, in order', async () => {
    const throttle = new Throttle();
    const done: number[] = [];
    expect(throttle.turn()).toBeUndefined();
    for (const n of [1, 2]) void throttle.turn()?.then(() => done.push(n));
    expect(done).toEqual([]);
    for (const expected of [[1], [1, 2]]) {
      await nextTurn();
      expect(done).toEqual(expected);
    }
  });

  test('lets work run at once again when none is waiting', async () => {
    const throttle = new Throttle();
    throttle.turn();
    await throttle.turn();
    await nextTurn();
    await nextTurn();
    expect(throttle.turn()).toBeUndefined();
  });

  test('lets work that can wait run at once when nothing waits', () => {
    const throttle = new Throttle();
    expect(throttle.later()).toBeUndefined();
    throttle.turn();
    expect(throttle.later()).toBeUndefined();
  });

  test('lets work that can wait run after the rest, in order', async () => {
    const throttle = new Throttle();
    const done: string[] = [];
    throttle.turn();
    for (const name of ['a', 'b']) {
      void throttle.turn()?.then(() => done.push(name));
      void throttle.later()?.then(() => done.push(`${name} later`));
    }
    await nextTurn();
    await nextTurn();
    expect(done).toEqual(['a', 'b']);
    void throttle.later()?.then(() => done.push('c later'));
    for (let turn = 0; turn < 4; turn += 1) await nextTurn();
    expect(done.slice(2)).toEqual(['a later', 'b later', 'c later']);
  });

  test('gathers work until no piece waits for a turn, and then gives none', async () => {
    const throttle = new Throttle();
    const done: string[] = [];
    let end: () => void = () => undefined;
    const until = new Promise<void>((resolve) => {
      end = resolve;
    });
    const gather = (name: string) =>
      throttle.together(async () => {
        done.push(name);
        await until;
        return name;
      });
    throttle.turn();
    void throttle.turn()?.then(() => done.push('turn'));
    const gathered = [gather('a'), gather('b')];
    await nextTurn();
    expect(done).toEqual(['turn']);
    await nextTurn();
    expect(done).toEqual(['turn', 'a', 'b']);
    const last = gather('c');
    void throttle.turn()?.then(() => done.push('next turn'));
    void throttle.later()?.then(() => done.push('later'));
    for (let turn = 0; turn < 3; turn += 1) await nextTurn();
    expect(done).toHaveLength(3);
    end();
    expect(await Promise.all(gathered)).toEqual(['a', 'b']);
    await last;
    for (let turn = 0; turn < 3; turn += 1) await nextTurn();
    expect(done.slice(3)).toEqual(['next turn', 'c', 'later']);
    expect(throttle.isBusy).toBe(false);
  });

  test('begins gathered work after 50 ms although pieces wait', async () => {
    vi.useFakeTimers({ toFake: ['performance'] });
    try {
      const throttle = new Throttle();
      const done: string[] = [];
      throttle.turn();
      const failing = throttle
        .together(async () => {
          done.push('gathered');
          throw new Error('no');
        })
        .catch(() => done.push('failed'));
      for (const name of ['a', 'b', 'c'])
        void throttle.turn()?.then(() => done.push(name));
      await nextTurn();
      vi.advanceTimersByTime(51);
      await failing;
      for (let turn = 0; turn < 3; turn += 1) await nextTurn();
      expect(done).toEqual(['a', 'gathered', 'failed', 'b', 'c']);
    } finally {
      vi.useRealTimers();
    }
  });

  test('lets late work have every other turn after a second', async () => {
    vi.useFakeTimers({ toFake: ['performance'] });
    try {
      const throttle = new Throttle();
      const done: string[] = [];
      throttle.turn();
      for (const name of ['a', 'b', 'c', 'd', 'e'])
        void throttle.turn()?.then(() => done.push(name));
      for (const name of ['1', '2'])
        void throttle.later()?.then(() => done.push(name));
      vi.advanceTimersByTime(1000);
      await nextTurn();
      vi.advanceTimersByTime(1);
      for (let turn = 0; turn < 8; turn += 1) await nextTurn();
      expect(done).toEqual(['a', '1', 'b', '2', 'c', 'd', 'e']);
    } finally {
      vi.useRealTimers();
    }
  });

  test('lets late work have its turn between rounds of gathered work', async () => {
    vi.useFakeTimers({ toFake: ['performance'] });
    onTestFinished(() => void vi.useRealTimers());
    const throttle = new Throttle();
    const done: string[] = [];
    throttle.turn();
    const gather = (left: number): Promise<void> =>
      throttle.together(async () => {
        done.push('gathered');
        vi.advanceTimersByTime(600);
        if (left > 0) void gather(left - 1);
      });
    void gather(3);
    for (const name of ['1', '2'])
      void throttle.later()?.then(() => done.push(name));
    for (let turn = 0; turn < 8; turn += 1) await nextTurn();
    const rounds = ['gathered', 'gathered', '1', 'gathered', '2', 'gathered'];
    expect(done).toEqual(rounds);
  });
});

describe('shared rounds', () => {
  /** Work that ends when the test says so. */
  function controlled() {
    const ends: ((error?: Error) => void)[] = [];
    const rounds = new SharedRounds(
      () =>
        new Promise<number>((resolve, reject) => {
          const round = ends.length + 1;
          ends.push((error) => (error ? reject(error) : resolve(round)));
        })
    );
    return { ends, rounds };
  }

  test('give all that ask meanwhile the result of one later round', async () => {
    const { ends, rounds } = controlled();
    const first = rounds.result();
    const others = Array.from({ length: 20 }, () => rounds.result());
    expect(ends).toHaveLength(1);
    ends[0]?.();
    expect(await first).toBe(1);
    await nextTurn();
    const last = rounds.result();
    expect(ends).toHaveLength(2);
    ends[1]?.();
    expect(new Set(await Promise.all(others))).toEqual(new Set([2]));
    await nextTurn();
    ends[2]?.();
    expect([await last, ends.length]).toEqual([3, 3]);
  });

  test('begin at once when none is under way', async () => {
    const { ends, rounds } = controlled();
    for (const round of [1, 2]) {
      const result = rounds.result();
      ends[round - 1]?.();
      expect(await result).toBe(round);
    }
  });

  test('go on after a round that fails', async () => {
    const { ends, rounds } = controlled();
    const failed = rounds.result();
    const next = rounds.result();
    ends[0]?.(new Error('no'));
    await expect(failed).rejects.toThrow('no');
    await nextTurn();
    ends[1]?.();
    expect(await next).toBe(2);
  });
});
