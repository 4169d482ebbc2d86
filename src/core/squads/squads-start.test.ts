import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { recordWith } from '../../../test/kit/servers/run-facts.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../../test/kit/workspaces/temp-workspace.ts';
import type { ApiEngine, CliEngine } from '../../plugin/plugin.ts';
import { EngineRegistry } from '../engines/engine-registry.ts';
import { HostError } from '../errors.ts';
import { RunStore } from '../runs/run-store.ts';
import { holdersOf } from '../runs/sessions/session-turns.ts';
import type { Spawned, SpawnRequest } from '../runs/spawn-request.ts';
import type { MemberRequest } from './plan-members.ts';
import { RoleRepository } from './role-repository.ts';
import type { SquadSettings } from './settings.ts';
import { SquadStore } from './squad-store.ts';
import { Squads } from './squads.ts';

const cli: CliEngine = {
  kind: 'cli',
  name: 'cli',
  description: '',
  command: 'cli',
  args: () => [],
  resumes: true
};
const chatless: CliEngine = { ...cli, name: 'chatless', resumes: false };
const api: ApiEngine = {
  kind: 'api',
  name: 'api',
  description: '',
  keyNames: [],
  generate: () => Promise.reject(new Error('not in this test'))
};

let workspace: TempWorkspace;
let store: RunStore;
let squadStore: SquadStore;
/** What was spawned and checked, in order. */
let spawned: SpawnRequest[];
let admitted: string[];
/** Called before each agent gets its record. */
let onSpawn: (
  request: SpawnRequest,
  index: number
) => Partial<Spawned> | undefined;

beforeEach(() => {
  workspace = createTempWorkspace();
  onTestFinished(workspace.remove);
  store = new RunStore(workspace.record);
  squadStore = new SquadStore(workspace.record);
  [spawned, admitted] = [[], []];
  onSpawn = () => undefined;
  mkdirSync(join(workspace.path, 'sub'));
  role('writer', '');
  role('reader', 'access: read\n');
  role('asker', 'engine: api\n');
});

function role(id: string, head: string): void {
  workspace.write(`roles/${id}.md`, `---\nname: x\n${head}---\nDo it.\n`);
}

function squads(settings: Partial<SquadSettings> = {}): Squads {
  const note = (what: string) => admitted.push(what);
  return new Squads({
    roles: new RoleRepository(
      { builtin: workspace.home, own: join(workspace.path, 'roles') },
      () => undefined
    ),
    registry: new EngineRegistry([cli, chatless, api], {}),
    store,
    workspace: workspace.path,
    settings: {
      stateMode: 'stateless',
      defaultEngine: 'cli',
      timeoutSeconds: 61,
      sequentialDelayMs: 7,
      templateVariables: [],
      ...settings
    },
    maxAccess: 'full',
    unknownRoleHint: '',
    squads: squadStore,
    admission: {
      checkDepth: () => note('depth'),
      checkDisk: () => note('disk'),
      checkRoom: async (engines) => {
        note(`room ${engines}`);
      },
      checkRate: (count) => note(`rate ${count}`),
      count: (count) => note(`count ${count}`)
    },
    spawn: async (request) => {
      const { agentId = '' } = request;
      const more = onSpawn(request, spawned.length);
      spawned.push(request);
      const record = recordWith({ agent_id: agentId });
      store.create(record, '', '');
      return { record, status: 'running', repeated: false, ...more };
    }
  });
}

const member = (
  roleId = 'writer',
  changes: Partial<MemberRequest> = {}
): MemberRequest => ({ roleId, task: `  As ${roleId}.`, ...changes });

test('a squad is admitted as a whole and stored before its first agent starts', async () => {
  onSpawn = ({ squad }) => {
    expect(squadStore.find(squad?.squadId ?? '')?.members).toHaveLength(3);
    expect(admitted).toEqual([
      ...['depth', 'disk', 'room cli,cli', 'rate 3', 'count 3']
    ]);
  };
  const members = [member(), member('asker'), member('reader')];
  const { begun, refused } = await squads().start({ members });
  expect(begun.size).toBe(3);
  expect(refused.size).toBe(0);
});

test('the stored squad has its members in the order of the request', async () => {
  const { squad } = await squads().start({
    members: [member('reader', { cwd: 'sub' }), member(), member('asker')],
    metadata: { ticket: 7 }
  });
  const ids = spawned.map(({ agentId }) => agentId);
  const { squadId, created_at } = squad;
  expect(squadStore.find(squadId)).toEqual({
    v: 1,
    squadId,
    created_at,
    stateMode: 'stateless',
    members: [
      {
        memberId: `${squadId}-m1`,
        roleId: 'reader',
        cwd: 'sub',
        agentId: ids[0]
      },
      {
        memberId: `${squadId}-m2`,
        roleId: 'writer',
        cwd: '.',
        agentId: ids[1]
      },
      { memberId: `${squadId}-m3`, roleId: 'asker', cwd: '.', agentId: ids[2] }
    ],
    metadata: { ticket: 7 }
  });
  expect(squads().get(squadId)).toEqual(squad);
  expect(await squads().agentsOf(squadId)).toEqual({ ids, missing: 0 });
});

test('a squad without metadata stores none', async () => {
  const { squad } = await squads().start({ members: [member()] });
  expect(squad).not.toHaveProperty('metadata');
});

test('an unknown squad is refused', async () => {
  const refused = { code: 'unknown_squad' };
  expect(() => squads().get('squad-00000000')).toThrow(
    expect.objectContaining(refused)
  );
  await expect(squads().agentsOf('x')).rejects.toMatchObject(refused);
});

test('each agent is spawned with what its role, request and settings say', async () => {
  const caller = { client: 'a client' };
  const { squad } = await squads({ stateMode: 'stateful' }).start({
    members: [
      member('reader', { cwd: 'sub', chatId: 'chat' }),
      member('asker')
    ],
    caller
  });
  const [first, second] = spawned;
  expect(first).toMatchObject({
    agentId: squad.members[0]?.agentId,
    engine: 'cli',
    task: 'reader: As reader.',
    access: 'read',
    cwd: join(workspace.path, 'sub'),
    timeoutSeconds: 61,
    caller,
    squad: {
      squadId: squad.squadId,
      memberId: `${squad.squadId}-m1`,
      roleId: 'reader'
    },
    inChat: true,
    isCounted: true,
    continues: { agentId: null, sessionId: 'chat' },
    after: []
  });
  expect(first?.prompt).toContain('# Task\n\n  As reader.');
  expect(second).toMatchObject({ engine: 'api', cwd: undefined });
  expect(second).not.toHaveProperty('continues');
});

test.each<[string, MemberRequest[], boolean[]]>([
  [
    'the last writer of its directory',
    [member(), member(), member()],
    [true, true, false]
  ],
  [
    'the last writer, and readers after it',
    [member(), member('reader'), member(), member('reader')],
    [true, true, false, false]
  ],
  [
    'the last writer of each directory',
    [member(), member('writer', { cwd: 'sub' }), member()],
    [true, false, false]
  ],
  [
    'a program before an API',
    [member('reader'), member('asker')],
    [false, false]
  ]
])(
  'the warning about other writers is left to %s',
  async (_, members, isWarned) => {
    await squads().start({ members });
    expect(spawned.map((request) => request.isWarned)).toEqual(isWarned);
  }
);

test('the warning about other writers is not left to a member that cannot start', async () => {
  role('chatless', 'engine: chatless\n');
  const members = [member(), member('chatless')];
  const settings = { stateMode: 'stateful' } as const;
  const { begun } = await squads(settings).start({ members });
  expect(begun.size).toBe(2);
  expect(spawned.map(({ failure }) => failure?.code)).toEqual([
    undefined,
    'spawn_failed'
  ]);
  expect(spawned.map((request) => request.isWarned)).toEqual([false, false]);
});

test('the warning of the squad is the first that an agent got', async () => {
  onSpawn = (_request, index) =>
    index > 0 ? { warning: `Warning ${index}.` } : undefined;
  const members = [member(), member(), member()];
  const { warning } = await squads().start({ members });
  expect(warning).toBe('Warning 1.');
  onSpawn = () => undefined;
  const other = await squads().start({ members: [member()] });
  expect(other).not.toHaveProperty('warning');
});

describe('a member that gets no agent', () => {
  const full = new HostError('storage_full', 'The disk is full.', 'Free some.');
  const failAt = (failing: number) => {
    let calls = 0;
    onSpawn = () => {
      calls += 1;
      if (calls === failing) throw full;
    };
  };
  const sequential = { executionMode: 'sequential' } as const;
  const members = [member(), member(), member()];

  test('as the first, ends the call and leaves no squad', async () => {
    failAt(1);
    await expect(squads().start({ members })).rejects.toBe(full);
    expect(spawned).toEqual([]);
    expect(store.ids()).toEqual([]);
    const { squad } = await squads().start({ members });
    expect(squadStore.find(squad.squadId)).toEqual(squad);
  });

  test('as the first, has its squad removed', async () => {
    let squadId = '';
    onSpawn = ({ squad }) => {
      squadId = squad?.squadId ?? '';
      expect(squadStore.find(squadId)).toBeDefined();
      throw full;
    };
    await expect(squads().start({ members })).rejects.toBe(full);
    expect(squadStore.find(squadId)).toBeUndefined();
  });

  test('later, is reported while the others go on without it', async () => {
    failAt(2);
    const { squad, refused, begun } = await squads(sequential).start({
      members
    });
    const [first, second, third] = squad.members.map((one) => one.agentId);
    expect([...refused]).toEqual([[second, 'The disk is full. Free some.']]);
    expect([...begun.keys()]).toEqual([first, third]);
    expect(spawned.map(({ after }) => after)).toEqual([
      [],
      [{ agentId: first, delayMs: 7 }]
    ]);
    expect(squadStore.find(squad.squadId)?.members).toHaveLength(3);
  });

  test('leaves no turn in its chat', async () => {
    failAt(2);
    const inChat = [member('writer', { chatId: 'chat' })];
    const { squad } = await squads({ stateMode: 'stateful' }).start({
      members: [...inChat, ...inChat]
    });
    expect(holdersOf('cli', 'chat', store)).toEqual([
      squad.members[0]?.agentId
    ]);
  });
});

test('an agent that failed after its record was written is no refusal', async () => {
  onSpawn = ({ agentId = '' }) => {
    store.create(recordWith({ agent_id: agentId }), '', '');
    throw new Error('It broke later.');
  };
  const { refused, begun, squad } = await squads().start({
    members: [member()]
  });
  expect([refused.size, begun.size]).toEqual([0, 0]);
  expect(squadStore.find(squad.squadId)).toEqual(squad);
});

test('no member waits for one that could not start', async () => {
  const failure = { code: 'spawn_failed', message: 'No.' } as const;
  onSpawn = (_request, index) => (index === 1 ? { failure } : undefined);
  const { squad, begun } = await squads({
    executionMode: 'sequential'
  }).start({ members: [member(), member(), member()] });
  const [first, , third] = squad.members.map((one) => one.agentId);
  expect(spawned[2]?.after).toEqual([{ agentId: first, delayMs: 7 }]);
  expect([...begun.keys()]).toEqual([first, third]);
});
