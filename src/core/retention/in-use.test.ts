import {
  existsSync,
  mkdirSync,
  readdirSync,
  utimesSync,
  writeFileSync
} from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import {
  idOf,
  makeUp,
  ownProcess
} from '../../../test/kit/agents/made-up-agents.ts';
import {
  openOffice,
  type WorkerOffice
} from '../../../test/kit/agents/worker-office.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../../test/kit/workspaces/temp-workspace.ts';
import { processLiveness } from '../../adapters/child-process/processes.ts';
import { RunStore } from '../runs/run-store.ts';
import { SquadStore } from '../squads/squad-store.ts';
import { endedWorkers, removeHalves } from './ended-workers.ts';
import { findLeftovers } from './leftovers.ts';
import { scanRecord } from './scan.ts';
import { Trash } from './trash.ts';

const processes = processLiveness();
const hourMs = 3_600_000;
const [one, other] = [idOf(1), idOf(2)];

let workspace: TempWorkspace;
let store: RunStore;

beforeEach(() => {
  workspace = createTempWorkspace();
  onTestFinished(() => workspace.remove());
  store = new RunStore(workspace.record);
});

/** As if it had last changed an hour ago. */
function age(path: string): void {
  const at = new Date(Date.now() - hourMs);
  utimesSync(path, at, at);
}

describe('an agent that has ended and was read', () => {
  /** A squad that was created so long ago, with the agent and one more. */
  async function holdOf(createdMsAgo: number): Promise<string | undefined> {
    const squadId = 'squad-00000001';
    const squad = { squadId, memberId: 'm1', roleId: 'r' };
    const made = { agent_id: one, daysAgo: 1, read: true, squad };
    makeUp(workspace.record, made);
    new SquadStore(workspace.record).create({
      ...{ v: 1, squadId, stateMode: 'stateless' },
      created_at: new Date(Date.now() - createdMsAgo).toISOString(),
      members: [one, other].map((agentId, index) => ({
        ...{ memberId: `m${index + 1}`, roleId: 'r', cwd: '.', agentId }
      }))
    });
    return (await scanRecord(store))[0]?.hold;
  }

  test('stays while the rest of its squad may be about to start', async () => {
    expect(await holdOf(30_000)).toBe('squad');
  });

  test('may be removed once the rest can no longer start', async () => {
    expect(await holdOf(90_000)).toBeUndefined();
  });
});

test.each([
  [30_000, 'at_work'],
  [90_000, 'unread']
])(
  'an agent that exited %d ms ago without a judged end is %s',
  async (ms, hold) => {
    const directory = makeUp(workspace.record, {
      agent_id: one,
      daysAgo: null
    });
    writeFileSync(join(directory, 'claim'), '1 1\n\n');
    const exit = join(directory, 'exit');
    writeFileSync(exit, '0\n');
    const at = new Date(Date.now() - ms);
    utimesSync(exit, at, at);
    expect(await scanRecord(store)).toMatchObject([{ agentId: one, hold }]);
  }
);

describe('a leftover', () => {
  const found = (exists: string[] = []) =>
    findLeftovers(store, [], (id) => exists.includes(id));

  test('is a squad of which no agent is left, and no younger one', () => {
    const squads = new SquadStore(workspace.record);
    const squadId = 'squad-00000001';
    squads.create({
      ...{ v: 1, squadId, stateMode: 'stateless' },
      created_at: new Date().toISOString(),
      members: [one, other].map((agentId) => ({
        ...{ memberId: agentId, roleId: 'r', cwd: '.', agentId }
      }))
    });
    expect(found().squads).toEqual([]);
    age(join(workspace.record, 'squads', `${squadId}.json`));
    expect(found([other]).squads).toEqual([]);
    expect(found().squads).toEqual([squadId]);
  });

  test('is a mark without an agent, and no younger one', () => {
    workspace.writeRecord(`open/${one}`, '');
    expect(found().marks).toEqual([]);
    age(join(workspace.record, 'open', one));
    expect(found().marks).toEqual([one]);
  });
});

describe('the trash of another clean', () => {
  /** A folder of another clean with one agent, of this owner. */
  function trashOf(owner: object | undefined): string {
    const folder = join(workspace.record, 'trash', 'abcdefabcdef');
    mkdirSync(join(folder, one), { recursive: true, mode: 0o700 });
    if (owner) writeFileSync(join(folder, 'owner'), JSON.stringify(owner));
    return folder;
  }

  const adopted = () => {
    const trash = new Trash(workspace.record, processes);
    const names = trash.adopt().map(({ name }) => name);
    trash.close();
    return names;
  };

  test.each([
    ['at work', ownProcess],
    ['of another machine', { ...ownProcess, place: 'elsewhere' }]
  ])('is left to it if that is %s', (_, owner) => {
    const folder = trashOf(owner);
    age(folder);
    expect(new Trash(workspace.record, processes).leftovers()).toBe(0);
    expect(adopted()).toEqual([]);
    expect(readdirSync(folder)).toContain(one);
  });

  test('is taken over once that has ended', () => {
    trashOf({ ...ownProcess, start: '1' });
    expect(adopted()).toEqual([one]);
  });

  test('is taken over without an owner only after a minute', () => {
    const folder = trashOf(undefined);
    expect(adopted()).toEqual([]);
    age(folder);
    expect(adopted()).toEqual([one]);
  });
});

describe('a worker', () => {
  let office: WorkerOffice;

  beforeEach(async () => {
    office = await openOffice();
    onTestFinished(() => office.close());
    office.hire(one);
  });

  const folder = () => office.reader().folderOf(one);
  const removed = () => {
    const { record, paths } = office.workspace;
    const trash = new Trash(record, processes);
    removeHalves(paths, trash, processes);
    trash.close();
    return !existsSync(folder().private);
  };

  test('has ended when nothing is left to do for its end', async () => {
    const { paths } = office.workspace;
    const ids = () =>
      endedWorkers(paths, processes).map(({ agentId }) => agentId);
    expect(ids()).toEqual([]);
    await office
      .reader()
      .get(one)
      .log.change(() => ({
        events: [{ type: 'stopped', by: 'troupe' }],
        result: undefined
      }));
    expect(ids()).toEqual([]);
    await office.master().attend();
    expect(existsSync(folder().request)).toBe(false);
    expect(ids()).toEqual([one]);
  });

  test('with a damaged record is removed once it is old and nothing runs', () => {
    const { meta, private: own } = folder();
    writeFileSync(meta, 'spilt');
    expect(removed()).toBe(false);
    age(own);
    const claim = join(folder().start(1), 'claim');
    writeFileSync(claim, `${ownProcess.pid} ${ownProcess.start}\n\n`);
    expect(removed()).toBe(false);
    writeFileSync(claim, `${ownProcess.pid} 1\n\n`);
    expect(removed()).toBe(true);
  });

  test('with a whole record is never removed as a half one', () => {
    office.lose(one);
    age(folder().private);
    expect(removed()).toBe(false);
  });
});
