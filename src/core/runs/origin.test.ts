import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createProcesses } from '../../adapters/child-process/processes.ts';
import { recordWith } from '../../testing/run-facts.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../testing/temp-workspace.ts';
import { Origin } from './origin.ts';
import type { AgentMarks, Ancestor } from './ports.ts';
import type { ProcessIdentity } from './run.ts';
import { RunStore } from './run-store.ts';

const processes = createProcesses('dist');
const { self } = processes;
let workspace: TempWorkspace;
let store: RunStore;

beforeEach(() => {
  workspace = createTempWorkspace();
  store = new RunStore(workspace.record);
});
afterEach(() => workspace.remove());

/** A run whose supervisor is that process. */
function supervised(
  agent_id: string,
  depth: number,
  supervisor: ProcessIdentity,
  more: object = {}
): void {
  const facts = { agent_id, depth, owner: self, ...more };
  store.create(recordWith(facts), 'x', 'x');
  const claim = `${supervisor.pid} ${supervisor.start}\n`;
  writeFileSync(join(store.directoryOf(agent_id), 'claim'), claim);
}

function ancestor(
  pid: number,
  marks: Partial<AgentMarks> = {},
  start = '7'
): Ancestor {
  const none = { agentId: undefined, directory: undefined, depth: undefined };
  const identity = { pid, start, place: self.place };
  return { identity, marks: { ...none, ...marks } };
}

function originOf(
  ancestors: Ancestor[],
  environment: Record<string, string> = {}
) {
  return new Origin({
    store,
    environment,
    processes: { ...processes, ancestors: () => ancestors }
  });
}

function found(...given: Parameters<typeof originOf>) {
  const { depth, parent } = originOf(...given);
  return { depth, parent };
}

const [a, b] = ['0000000a', '0000000b'];

describe('a server', () => {
  test('of a person is in no agent', () => {
    expect(found([ancestor(50), ancestor(40)])).toEqual({
      depth: 0,
      parent: null
    });
    expect(originOf([]).isAgents()).toBe(false);
  });

  test('takes the deepest of what is said of it', () => {
    const above = [
      ancestor(50, { agentId: b, depth: '2' }),
      ancestor(40, { agentId: a, depth: '1' })
    ];
    expect(found(above)).toEqual({ depth: 2, parent: b });
    const lying = { TROUPE_AGENT_ID: a, TROUPE_DEPTH: '0' };
    expect(found(above, lying).depth).toBe(2);
    expect(found(above, { TROUPE_DEPTH: '5' }).depth).toBe(5);
  });

  test.each(['', '-3', 'x', 'NaN', '0x'])('takes the depth %j for 0', (it) => {
    const own = { TROUPE_AGENT_ID: '../../x', TROUPE_DEPTH: it };
    expect(found([], own)).toEqual({ depth: 0, parent: null });
  });

  test('is known by a supervisor above it, whatever environments say', () => {
    supervised(a, 1, { ...self, pid: 40, start: '7' });
    supervised(b, 3, { ...self, pid: 50, start: '7' });
    const above = [
      ancestor(60, { agentId: 'ffffffff', depth: '1' }),
      ancestor(50),
      ancestor(40)
    ];
    const own = { TROUPE_AGENT_ID: 'eeeeeeee' };
    expect(found(above, own)).toEqual({ depth: 3, parent: b });
  });

  test('is not known by a later process with the number of one', () => {
    supervised(a, 1, { ...self, pid: 40, start: '6' });
    expect(found([ancestor(40)])).toEqual({ depth: 0, parent: null });
  });

  test('is not known by a supervisor of another machine', () => {
    const owner = { ...self, place: 'elsewhere' };
    supervised(a, 1, { ...self, pid: 40, start: '7' }, { owner });
    expect(found([ancestor(40)])).toEqual({ depth: 0, parent: null });
  });

  test('is known by its session, though that has no leader any more', () => {
    supervised(a, 1, { ...self, pid: 40, start: '6' });
    expect(found([ancestor(40, {}, '')])).toEqual({ depth: 1, parent: a });
  });

  test('is known by the supervisor of a worker, by its own folder', () => {
    const directory = join(workspace.path, 'start');
    mkdirSync(directory);
    writeFileSync(join(directory, 'claim'), '50 7\n');
    supervised(a, 1, { ...self, pid: 40, start: '7' });
    const worker = { agentId: b, directory, depth: '2' };
    expect(found([ancestor(50, worker), ancestor(40)])).toEqual({
      depth: 2,
      parent: b
    });
    // A folder that says something else is no proof.
    expect(found([ancestor(51, worker), ancestor(40)])).toEqual({
      depth: 2,
      parent: a
    });
  });
});

describe('what is asked', () => {
  test('is asked by an agent as long as that is at work', () => {
    supervised(a, 1, self);
    const origin = originOf([], { TROUPE_AGENT_ID: a, TROUPE_DEPTH: '1' });
    expect(origin.isAgents()).toBe(true);
    writeFileSync(join(store.directoryOf(a), 'exit'), '0\n');
    expect(origin.isAgents()).toBe(false);
    expect(origin.depth).toBe(1);
  });

  test('is asked by an agent that this workspace does not know', () => {
    expect(originOf([ancestor(9, { agentId: b })]).isAgents()).toBe(true);
  });

  describe('where an agent left only its marks', () => {
    const started = join('workers', b, 'start-1');
    const asks = (directory: string) =>
      originOf([ancestor(9, { agentId: b, directory })]).isAgents();

    function startedBy(claim: string): string {
      const directory = join(workspace.record, started);
      mkdirSync(directory, { recursive: true });
      writeFileSync(join(directory, 'claim'), claim);
      return directory;
    }

    test('is asked by nobody once that was removed', () => {
      supervised(a, 1, self);
      const origin = originOf([], {
        TROUPE_AGENT_ID: a,
        TROUPE_AGENT_DIR: store.directoryOf(a)
      });
      expect(origin.isAgents()).toBe(true);
      store.discard(a);
      expect(origin.isAgents()).toBe(false);
      expect(asks(join(workspace.record, started))).toBe(false);
    });

    test('is asked by a worker as long as that is at work', () => {
      const directory = startedBy(`${self.pid} ${self.start}\n`);
      expect(asks(directory)).toBe(true);
      writeFileSync(join(directory, 'exit'), '143\n');
      expect(asks(directory)).toBe(false);
    });

    test('is asked by nobody when its supervisor was killed', () => {
      expect(asks(startedBy(`${self.pid} 1\n`))).toBe(false);
    });

    test('is asked by it where its files cannot be seen', () => {
      expect(asks(join(workspace.path, 'away', started))).toBe(true);
    });
  });

  test('is awaited by all from whom it descends', () => {
    supervised(a, 1, self);
    supervised(b, 2, self, { parent: a });
    expect(originOf([], { TROUPE_AGENT_ID: b }).lineage()).toEqual([b, a]);
    expect(originOf([]).lineage()).toEqual([]);
  });

  test('is looked up once, when it is needed', () => {
    let looks = 0;
    const ancestors = () => {
      looks += 1;
      return [];
    };
    const origin = new Origin({
      store,
      processes: { ...processes, ancestors },
      environment: {}
    });
    expect(looks).toBe(0);
    expect([origin.depth, origin.parent, origin.depth]).toEqual([0, null, 0]);
    expect(looks).toBe(1);
  });
});
