import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import {
  idOf,
  type MadeUp,
  makeUp
} from '../../../../test/kit/agents/made-up-agents.ts';
import { hostHere } from '../../../../test/kit/servers/host-here.ts';
import { outcomeWith } from '../../../../test/kit/servers/run-facts.ts';
import type { TempWorkspace } from '../../../../test/kit/workspaces/temp-workspace.ts';
import type { Host } from '../../../host/host.ts';
import type { Run } from '../run.ts';
import type { WaitOptions } from './waiter.ts';

let workspace: TempWorkspace;
let host: Host;

beforeEach(async () => {
  ({ workspace, host } = await hostHere());
});

const [one, two, three] = [idOf(1), idOf(2), idOf(3)];

/** An agent that has ended, unless it has no `daysAgo`. */
function agent(agent_id: string, made: Partial<MadeUp> = {}): string {
  const all = { agent_id, daysAgo: 1, isOpen: true, ...made };
  return makeUp(workspace.record, all);
}

const queued = (id: string) => agent(id, { daysAgo: null });

async function wait(agentIds: string[], options: Partial<WaitOptions> = {}) {
  const result = await host.wait({
    ...{ agentIds, mode: 'all', timeoutMs: 0 },
    ...options
  });
  return {
    finished: idsOf(result.finished),
    waiting: idsOf(result.waiting),
    lost: result.lost.map(({ agentId }) => agentId),
    missing: result.missing,
    spoilt: result.spoilt.map(({ agentId }) => agentId)
  };
}

const idsOf = (runs: Run[]) => runs.map(({ record }) => record.agent_id);
const none = { lost: [], missing: [], spoilt: [] };

/** Another server records the end. */
function endElsewhere(id: string): void {
  const directory = host.store.directoryOf(id);
  writeFileSync(join(directory, 'result.txt'), '');
  writeFileSync(
    join(directory, 'outcome.json'),
    JSON.stringify(outcomeWith({ status: 'canceled' }))
  );
}

describe('a wait', () => {
  test('for agents that have ended is over at once, in the order of the call', async () => {
    agent(one);
    agent(two);
    const timeoutMs = 60_000;
    expect(await wait([two, one], { timeoutMs })).toEqual({
      ...{ finished: [two, one], waiting: [], ...none }
    });
    expect(await wait([], { timeoutMs })).toMatchObject({ finished: [] });
  });

  test('for all returns those that still run when its time is up', async () => {
    agent(one);
    queued(two);
    expect(await wait([one, two], { timeoutMs: 1 })).toEqual({
      ...{ finished: [one], waiting: [two], ...none }
    });
  });

  test('for any is over with the first end', async () => {
    agent(one);
    queued(two);
    const any = { mode: 'any', timeoutMs: 60_000 } as const;
    expect(await wait([two, one], any)).toEqual({
      ...{ finished: [one], waiting: [two], ...none }
    });
  });

  test('is over when another server records the last end', async () => {
    queued(one);
    queued(two);
    const waited = wait([one, two], {
      timeoutMs: 60_000,
      onProgress: (finished) => {
        endElsewhere(finished.length === 0 ? two : one);
      }
    });
    expect(await waited).toMatchObject({ finished: [one, two], waiting: [] });
  });

  test('is over as soon as this server ends the agent', async () => {
    queued(one);
    const waited = wait([one], { timeoutMs: 60_000 });
    await host.cancel(one);
    expect(await waited).toMatchObject({ finished: [one], waiting: [] });
  });

  test('reports its progress at the start and after each end, and not after the last', async () => {
    queued(one);
    queued(two);
    queued(three);
    const seen: [number, number][] = [];
    await wait([one, two, three], {
      timeoutMs: 60_000,
      onProgress: (finished, waiting) => {
        seen.push([finished.length, waiting.length]);
        endElsewhere([one, two, three][finished.length] ?? '');
      }
    });
    expect(seen).toEqual([
      [0, 3],
      [1, 2],
      [2, 1]
    ]);
  });

  test('ends with its signal, before or during it', async () => {
    queued(one);
    const timeoutMs = 60_000;
    const signal = AbortSignal.abort();
    const late = new AbortController();
    expect(await wait([one], { timeoutMs, signal })).toMatchObject({
      waiting: [one]
    });
    const waited = wait([one], {
      ...{ timeoutMs, signal: late.signal },
      onProgress: () => setImmediate(() => late.abort())
    });
    expect(await waited).toMatchObject({ waiting: [one] });
  });

  test('ends when it is interrupted by what still runs', async () => {
    queued(one);
    agent(two);
    const seen: string[][] = [];
    const isInterrupted = (waiting: Run[]) => {
      seen.push(idsOf(waiting));
      return seen.length === 2;
    };
    await wait([one, two], { timeoutMs: 60_000, isInterrupted });
    expect(seen).toEqual([[one], [one]]);
  });
});

describe('an agent whose record', () => {
  test('is unknown is lost, and may be ending now', async () => {
    expect(await wait([one])).toEqual({
      ...{ finished: [], waiting: [], spoilt: [] },
      ...{ lost: [one], missing: [one] }
    });
  });

  test('is removed during the wait is no longer waited for', async () => {
    const directory = queued(one);
    agent(two);
    const waited = wait([one, two], {
      timeoutMs: 5000,
      onProgress: () => {
        rmSync(directory, { recursive: true });
      }
    });
    expect(await waited).toMatchObject({ finished: [two], waiting: [] });
  });

  test('was tampered with is named, and the others are returned', async () => {
    writeFileSync(join(agent(one), 'outcome.json'), '{}');
    agent(two);
    expect(await wait([one, two], { timeoutMs: 60_000 })).toEqual({
      ...{ finished: [two], waiting: [], lost: [], missing: [] },
      spoilt: [one]
    });
    queued(three);
    expect(await wait([one, three])).toMatchObject({ waiting: [three] });
  });

  test('was tampered with is an error when it is the only one', async () => {
    writeFileSync(join(agent(one), 'outcome.json'), '{}');
    await expect(wait([one])).rejects.toMatchObject({ code: 'state_invalid' });
  });
});
