import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import {
  childrenOf,
  createProcessStage,
  type ProcessStage,
  setClock,
  stopClock
} from '../../../test/kit/agents/process-stage.ts';
import { until } from '../../../test/kit/judges/until.ts';
import { needing } from '../../../test/kit/workspaces/needs.ts';
import type { StopTarget } from '../../core/runs/ports.ts';
import type { Claim } from '../../core/runs/run-files.ts';
import { findAgentTree, nextSnapshot } from './agent-tree.ts';
import {
  hasProc,
  type ProcessEntry,
  processEntry,
  processEnvironments,
  processTable,
  thisNamespace
} from './process-table.ts';

let stage: ProcessStage;
/** The agent's folder. */
let directory: string;

beforeEach(() => {
  stage = createProcessStage();
  directory = join(stage.base, 'agent');
});

/** Start times are numbers there. */
const testWithProc = needing('/proc', hasProc());
const place = thisNamespace();
const [host = '', , space = ''] = place.split(' ');

function claimBy(
  { pid, start }: ProcessEntry,
  changes: { start?: string; place?: string; watchdogs?: number[] } = {}
): Claim {
  const { watchdogs = [], ...identity } = changes;
  return {
    supervisor: { pid, start, place, ...identity },
    watchdogs,
    never: false
  };
}

/** The pids that belong to the agent, and those that are spared. */
async function treeOf(
  claim: Claim | undefined,
  target: Partial<StopTarget> = {},
  known: ProcessEntry[] = []
) {
  const { members, spared, nested } = findAgentTree(
    { directory, place, ...target },
    claim,
    new Map(known.map((entry) => [entry.pid, entry])),
    await nextSnapshot()
  );
  return {
    members: members.map(({ pid }) => pid),
    spared,
    nested: [...nested]
  };
}

/** A process with a mark, which is there once `sleep` is. */
async function marked(text: string, name = 'TROUPE_AGENT_DIR') {
  const one = stage.start(`exec env ${name}='${text}' sleep 100`);
  await until('its mark', () =>
    processEnvironments([one.pid]).get(one.pid)?.includes(text)
  );
  return one;
}

const nothing = { members: [], spared: [], nested: [] };

describe('the pid of a supervisor', () => {
  let supervisor: ProcessEntry;
  let child: number;

  beforeEach(async () => {
    supervisor = stage.start('sleep 100 & wait');
    const [found] = await childrenOf(supervisor.pid);
    child = found?.pid ?? 0;
  });

  test('leads to its agent, and to no process around it', async () => {
    stage.start('exec sleep 100');
    expect(await treeOf(claimBy(supervisor))).toEqual({
      members: [child],
      spared: [supervisor.pid],
      nested: []
    });
  });

  test.each([
    ['start', { start: '1' }],
    ['machine', { place: 'elsewhere' }],
    ['boot', { place: `${host} another-boot ${space}` }]
  ])('is another process after another %s', async (_, changes) => {
    const claim = claimBy(supervisor, changes);
    expect(await treeOf(claim)).toEqual(nothing);
    expect(await treeOf(claim, { justEnded: true })).toEqual(nothing);
  });

  test('leads to its agent in the session of another process, too', async () => {
    const leader = stage.start('sh -c "sleep 100; :" & wait');
    const [shell = leader] = await childrenOf(leader.pid);
    const [member] = await childrenOf(shell.pid);
    const { members, spared } = await treeOf(claimBy(shell));
    expect([members, spared]).toEqual([[member?.pid], [shell.pid]]);
  });

  test('above this process does not lead to what this process starts', async () => {
    const above = processEntry(process.ppid);
    if (!above) throw new Error('The parent of this process has ended.');
    const { members } = await treeOf(claimBy(above));
    expect(members).not.toContain(process.pid);
    expect(members).not.toContain(supervisor.pid);
  });

  test('says nothing without a claim', async () => {
    expect(await treeOf(undefined)).toEqual(nothing);
  });
});

describe('what an ended supervisor has left in its session', () => {
  let supervisor: ProcessEntry;
  let left: ProcessEntry;

  beforeEach(async () => {
    supervisor = stage.start('sleep 100 &');
    await until('its end', () => !processEntry(supervisor.pid));
    left = await until('its leftover', () =>
      processTable().find(({ session }) => session === supervisor.pid)
    );
    stage.endLater(left.pid);
  });

  test('is its agent’s, if it has ended just now', async () => {
    const { members } = await treeOf(claimBy(supervisor), { justEnded: true });
    expect(members).toEqual([left.pid]);
  });

  test('may be of another session later', async () => {
    expect(await treeOf(claimBy(supervisor))).toEqual(nothing);
  });

  test('is its agent’s for ever, next to a process with its mark', async () => {
    const unmarked = 'env -u TROUPE_AGENT_DIR sleep 100 &';
    const other = stage.start(`${unmarked} sleep 100 &`, {
      TROUPE_AGENT_DIR: directory
    });
    await until('its end', () => !processEntry(other.pid));
    const both = await until('its leftovers', () => {
      const found = processTable().filter((one) => one.session === other.pid);
      const lines = [...processEnvironments(found.map(({ pid }) => pid))];
      const named = lines.filter(([, text]) => text.includes(directory));
      return found.length === 2 && named.length === 1 ? found : undefined;
    });
    for (const { pid } of both) stage.endLater(pid);
    const { members } = await treeOf(claimBy(other));
    expect(members.sort()).toEqual(both.map(({ pid }) => pid).sort());
  });

  test('is of no interest on another machine', async () => {
    const claim = claimBy(supervisor, { place: 'elsewhere' });
    expect(await treeOf(claim, { justEnded: true })).toEqual(nothing);
  });
});

describe('a process that was a member before', () => {
  test('is one without its parent, with all that it starts', async () => {
    const member = stage.start('sleep 100 & wait');
    const [child] = await childrenOf(member.pid);
    const { members } = await treeOf(undefined, {}, [member]);
    expect(members.sort()).toEqual([member.pid, child?.pid].sort());
  });

  test('is none after its pid was used again', async () => {
    const now = stage.start('exec sleep 100');
    const before = { ...now, start: `${Number(now.start) - 1}` };
    expect(await treeOf(undefined, {}, [before])).toEqual(nothing);
  });

  test('is never this process, nor the first one', async () => {
    const own = [process.pid, 1].flatMap((pid) => processEntry(pid) ?? []);
    const { members } = await treeOf(undefined, {}, own);
    for (const { pid } of own) expect(members).not.toContain(pid);
  });
});

describe('a process with the mark of an agent', () => {
  test('belongs to it in any session', async () => {
    const { pid } = await marked(directory);
    expect(await treeOf(undefined)).toEqual({ ...nothing, members: [pid] });
  });

  test('does not if the mark differs at all', async () => {
    await marked(`${directory}x`);
    await marked(join(directory, '..'));
    await marked(directory, 'OLD_TROUPE_AGENT_DIR');
    expect(await treeOf(undefined)).toEqual(nothing);
  });

  testWithProc('does not if it is older than its supervisor', async () => {
    const one = await marked(directory);
    const born = (start: unknown) =>
      treeOf(claimBy({ ...one, pid: 2 ** 22 + 1, start: String(start) }));
    expect(await born(Number(one.start) + 1)).toEqual(nothing);
    const found = { ...nothing, members: [one.pid] };
    expect(await born(one.start)).toEqual(found);
    expect(await born('Mon_Nov_23')).toEqual(found);
  });
});

test('a process that is paused for an hour amid a snapshot takes the next one soon', async () => {
  // As another test of this process may have left it.
  stopClock()(60_000);
  let hours = 0;
  setClock((realMs) => {
    hours += 1;
    return realMs + hours * 3_600_000;
  });
  await nextSnapshot();
  setClock((realMs) => realMs);
  expect((await nextSnapshot()).entries).not.toEqual([]);
});

describe('a process below an agent with the mark of another one', () => {
  let inner: string;
  let supervisor: ProcessEntry;
  let child: ProcessEntry;

  beforeEach(async () => {
    inner = join(stage.base, 'inner');
    mkdirSync(inner);
    supervisor = stage.start(`TROUPE_AGENT_DIR='${inner}' sleep 100 & wait`);
    const [found] = await childrenOf(supervisor.pid);
    if (found) child = found;
    // Before that it has the environment of the shell.
    await until('its mark', async () => {
      const snapshot = await nextSnapshot();
      return snapshot.markersOf([child.pid]).get(child.pid) === inner;
    });
  });

  const claimed = (text: string) => writeFileSync(join(inner, 'claim'), text);

  test('is an agent with a supervisor of its own', async () => {
    const { pid, start } = child;
    claimed(`${pid} ${start}\n`);
    const { members, nested } = await treeOf(claimBy(supervisor));
    expect({ members, nested }).toEqual({ members: [], nested: [inner] });
  });

  test.each([
    ['no supervisor', () => undefined],
    ['a supervisor that is not a file', () => mkdirSync(join(inner, 'claim'))],
    ['a supervisor that is starting', () => claimed('')],
    [
      'a supervisor whose pid was used again',
      () => claimed(`${child.pid} 1\n`)
    ],
    ['an ended supervisor', () => claimed('4194305 1\n')]
  ])('belongs to the outer agent with %s', async (_, claim) => {
    claim();
    const { members, nested } = await treeOf(claimBy(supervisor));
    expect({ members, nested }).toEqual({ members: [child.pid], nested: [] });
  });
});

describe('a watchdog', () => {
  test('is spared with its children, unlike other children', async () => {
    const supervisor = stage.start('sh -c "sleep 100; :" & sleep 100 & wait');
    const children = await childrenOf(supervisor.pid, 2);
    const [sleeping] = await until('the child of the watchdog', () => {
      const found = processTable().filter((one) =>
        children.some(({ pid }) => pid === one.parent)
      );
      return found.length > 0 ? found : undefined;
    });
    const watchdog = sleeping?.parent ?? 0;
    const other = children.find(({ pid }) => pid !== watchdog)?.pid;
    const claim = claimBy(supervisor, { watchdogs: [watchdog] });
    expect(await treeOf(claim)).toEqual({
      members: [other],
      spared: [supervisor.pid, watchdog, sleeping?.pid],
      nested: []
    });
  });

  test('is a child of the supervisor, not a process with its pid', async () => {
    const supervisor = stage.start('sh -c "sleep 100; :" & wait');
    const [child] = await childrenOf(supervisor.pid);
    const [below] = await childrenOf(child?.pid ?? 0);
    const { pid } = stage.start('exec sleep 100');
    const watchdogs = [pid, below?.pid ?? 0];
    const tree = await treeOf(claimBy(supervisor, { watchdogs }));
    expect(tree.spared).toEqual([supervisor.pid]);
    expect(tree.members.sort()).toEqual([child?.pid, below?.pid].sort());
  });

  test('of an ended supervisor is not spared', async () => {
    const { pid } = await marked(directory);
    const claim: Claim = {
      supervisor: undefined,
      watchdogs: [pid],
      never: false
    };
    expect(await treeOf(claim)).toEqual({ ...nothing, members: [pid] });
  });
});

test('an ended process that its parent has not reaped is no member', async () => {
  const supervisor = stage.start('true & exec sleep 100');
  await until('a zombie', () =>
    processTable().some(
      ({ parent, zombie }) => parent === supervisor.pid && zombie
    )
  );
  const { members } = await treeOf(claimBy(supervisor));
  expect(members).toEqual([]);
});
