import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { recordWith } from '../../../../test/kit/servers/run-facts.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../../../test/kit/workspaces/temp-workspace.ts';
import { createProcesses } from '../../../adapters/child-process/processes.ts';
import type { ProcessIdentity } from '../../processes/process-identity.ts';
import type { AgentMarks, Ancestor } from '../ports.ts';
import { RunStore } from '../run-store.ts';
import { CallerContext } from './caller-context.ts';

const processes = createProcesses('dist');
const { self } = processes;
let workspace: TempWorkspace;
let store: RunStore;

beforeEach(() => {
  workspace = createTempWorkspace();
  store = new RunStore(workspace.record);
});
afterEach(() => workspace.remove());

/** Creates a run with the given process as its supervisor. */
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
  return new CallerContext({
    store,
    environment,
    processes: { ...processes, ancestors: () => ancestors }
  });
}

function found(...args: Parameters<typeof originOf>) {
  const { depth, parent } = originOf(...args);
  return { depth, parent };
}

const [a, b] = ['0000000a', '0000000b'];

describe('a server', () => {
  test('that a person started is inside no agent', () => {
    expect(found([ancestor(50), ancestor(40)])).toEqual({
      depth: 0,
      parent: null
    });
    expect(originOf([]).isAgents()).toBe(false);
  });

  test('uses the greatest depth that any source reports', () => {
    const above = [
      ancestor(50, { agentId: b, depth: '2' }),
      ancestor(40, { agentId: a, depth: '1' })
    ];
    expect(found(above)).toEqual({ depth: 2, parent: b });
    const environment = { TROUPE_AGENT_ID: a, TROUPE_DEPTH: '0' };
    expect(found(above, environment).depth).toBe(2);
    expect(found(above, { TROUPE_DEPTH: '5' }).depth).toBe(5);
  });

  test.each(['', '-3', 'x', 'NaN', '0x'])(
    'treats the depth %j as 0',
    (depth) => {
      const own = { TROUPE_AGENT_ID: '../../x', TROUPE_DEPTH: depth };
      expect(found([], own)).toEqual({ depth: 0, parent: null });
    }
  );

  test('is identified by a supervisor among its ancestors, whatever the environments contain', () => {
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

  test('is not identified by a later process with the pid of a supervisor', () => {
    supervised(a, 1, { ...self, pid: 40, start: '6' });
    expect(found([ancestor(40)])).toEqual({ depth: 0, parent: null });
  });

  test('is not identified by a supervisor of another machine', () => {
    const owner = { ...self, place: 'elsewhere' };
    supervised(a, 1, { ...self, pid: 40, start: '7' }, { owner });
    expect(found([ancestor(40)])).toEqual({ depth: 0, parent: null });
  });

  test('is identified by its session even when the leader has ended', () => {
    supervised(a, 1, { ...self, pid: 40, start: '6' });
    expect(found([ancestor(40, {}, '')])).toEqual({ depth: 1, parent: a });
  });

  test("is identified by a worker's supervisor through the worker's folder", () => {
    const directory = join(workspace.path, 'start');
    mkdirSync(directory);
    writeFileSync(join(directory, 'claim'), '50 7\n');
    supervised(a, 1, { ...self, pid: 40, start: '7' });
    const worker = { agentId: b, directory, depth: '2' };
    expect(found([ancestor(50, worker), ancestor(40)])).toEqual({
      depth: 2,
      parent: b
    });
    // A folder with another supervisor proves nothing.
    expect(found([ancestor(51, worker), ancestor(40)])).toEqual({
      depth: 2,
      parent: a
    });
  });
});

describe('a request', () => {
  test('comes from an agent as long as the agent is at work', () => {
    supervised(a, 1, self);
    const origin = originOf([], { TROUPE_AGENT_ID: a, TROUPE_DEPTH: '1' });
    expect(origin.isAgents()).toBe(true);
    writeFileSync(join(store.directoryOf(a), 'exit'), '0\n');
    expect(origin.isAgents()).toBe(false);
    expect(origin.depth).toBe(1);
  });

  test('comes from an agent that this workspace does not know', () => {
    expect(originOf([ancestor(9, { agentId: b })]).isAgents()).toBe(true);
  });

  describe('of an agent that left only its environment', () => {
    const started = join('workers', b, 'start-1');
    const isAgents = (directory: string) =>
      originOf([ancestor(9, { agentId: b, directory })]).isAgents();

    function startedBy(claim: string): string {
      const directory = join(workspace.record, started);
      mkdirSync(directory, { recursive: true });
      writeFileSync(join(directory, 'claim'), claim);
      return directory;
    }

    test('comes from no agent once the agent was removed', () => {
      supervised(a, 1, self);
      const origin = originOf([], {
        TROUPE_AGENT_ID: a,
        TROUPE_AGENT_DIR: store.directoryOf(a)
      });
      expect(origin.isAgents()).toBe(true);
      store.discard(a);
      expect(origin.isAgents()).toBe(false);
      expect(isAgents(join(workspace.record, started))).toBe(false);
    });

    test('comes from a worker as long as the worker is at work', () => {
      const directory = startedBy(`${self.pid} ${self.start}\n`);
      expect(isAgents(directory)).toBe(true);
      writeFileSync(join(directory, 'exit'), '143\n');
      expect(isAgents(directory)).toBe(false);
    });

    test('comes from no agent when the supervisor was killed', () => {
      expect(isAgents(startedBy(`${self.pid} 1\n`))).toBe(false);
    });

    test('comes from the agent when its files are not accessible', () => {
      expect(isAgents(join(workspace.path, 'away', started))).toBe(true);
    });
  });

  test('is awaited by all ancestors of the caller', () => {
    supervised(a, 1, self);
    supervised(b, 2, self, { parent: a });
    expect(originOf([], { TROUPE_AGENT_ID: b }).lineage()).toEqual([b, a]);
    expect(originOf([]).lineage()).toEqual([]);
  });

  test('is attributed once, at first use', () => {
    let calls = 0;
    const ancestors = () => {
      calls += 1;
      return [];
    };
    const origin = new CallerContext({
      store,
      processes: { ...processes, ancestors },
      environment: {}
    });
    expect(calls).toBe(0);
    expect([origin.depth, origin.parent, origin.depth]).toEqual([0, null, 0]);
    expect(calls).toBe(1);
  });
});
