import {
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { stopClock } from '../../../../test/kit/agents/process-stage.ts';
import {
  justBefore,
  watchFiles
} from '../../../../test/kit/judges/file-operations.ts';
import { until } from '../../../../test/kit/judges/until.ts';
import { recordWith } from '../../../../test/kit/servers/run-facts.ts';
import { makeRepository } from '../../../../test/kit/workspaces/git-workspace.ts';
import { deadHolder } from '../../../../test/kit/workspaces/lock-files.ts';
import { needing } from '../../../../test/kit/workspaces/needs.ts';
import {
  canMount,
  makeSmallDisk
} from '../../../../test/kit/workspaces/small-disk.ts';
import {
  createSpawnStage,
  type SpawnStage,
  type StageOptions
} from '../../../../test/kit/workspaces/spawn-stage.ts';
import { cancelRun } from '../end/stopper.ts';
import { stopRequestOf } from '../run-files.ts';
import type { SpawnRequest } from '../spawn-request.ts';
import { setStarting } from '../start-marks.ts';
import { disconnectQueued } from './starter.ts';

vi.mock('node:fs', async () => {
  const judge = '../../../../test/kit/judges/file-operations.ts';
  return (await import(judge)).watchedFs();
});

const testMounted = needing('right to mount a disk', canMount());

let stage: SpawnStage;
/** Never on the small disk. */
let arena: string;
/** Ids of the agents that were queued again. */
let queuedAgain: string[];

beforeEach(() => {
  watchFiles();
  arena = mkdtempSync(join(tmpdir(), 'troupe-arena-'));
  onTestFinished(() => rmSync(arena, { recursive: true }));
});

async function start(options: StageOptions = {}): Promise<void> {
  stage = await createSpawnStage({ config: { maxConcurrent: 1 }, ...options });
  queuedAgain = [];
  stage.events.onRunChanged(({ agent_id: id }) => queuedAgain.push(id));
}

async function spawned(
  prompt: string,
  more: Partial<SpawnRequest> = {}
): Promise<string> {
  const request = { engine: 'shell', prompt: `${prompt}; echo done`, ...more };
  return (await stage.spawner.spawn(request)).record.agent_id;
}

/** An agent that ends once `open` is called, and two that wait for it. */
async function queue() {
  const gate = join(arena, 'gate');
  const begun = join(arena, 'begun');
  const first = await spawned(
    `touch '${begun}'; while [ ! -e '${gate}' ]; do sleep 0.05; done`
  );
  const line = (name: string) => `echo ${name} >>'${join(arena, 'order')}'`;
  const second = await spawned(line('second'));
  const third = await spawned(line('third'));
  await until('the first one', () => existsSync(begun));
  return { first, second, third, open: () => writeFileSync(gate, '') };
}

async function statusesOf(...ids: string[]) {
  const runs = await Promise.all(ids.map((id) => stage.tracker.run(id)));
  return runs.map((run) => run?.status);
}

const allEnded = (...ids: string[]) =>
  until('the end of all', async () =>
    (await statusesOf(...ids)).every((status) => status === 'completed')
  );
const order = () => readFileSync(join(arena, 'order'), 'utf8');

const cancel = (id: string) =>
  cancelRun(
    id,
    { reason: 'the user' },
    { ...stage, journal: stage.runJournal, onProblem: () => undefined }
  );

function refusal(code: string, path: string): Error {
  return Object.assign(new Error(`${code}: refused`), { code, path });
}

/** Refuses the output file of an agent, again and again. */
function refuseOutput(id: string, code = 'EROFS') {
  const directory = stage.store.directoryOf(id);
  const refused = { times: 0, isOn: true };
  const again = () =>
    justBefore('open', `/${id}/stdout`, () => {
      if (!refused.isOn) return;
      refused.times += 1;
      again();
      throw refusal(code, join(directory, 'stdout'));
    });
  again();
  return refused;
}

describe('on a disk of its own', () => {
  async function startOnDisk() {
    const disk = makeSmallDisk(2048, 400);
    onTestFinished(disk.unmount);
    await start({ parent: disk.directory });
    return disk;
  }

  for (const what of ['bytes', 'files'] as const) {
    testMounted(
      `agents stay queued without free ${what}, and run in their order with them`,
      async () => {
        const disk = await startOnDisk();
        const { second, third, open } = await queue();
        // The end of the first one gives back the files of its pipes.
        justBefore('rename', `/${second}/starting`, () => disk.fill(what));
        open();
        await until('an attempt', () => queuedAgain.includes(second));
        expect(await statusesOf(second, third)).toEqual(['queued', 'queued']);
        const { active } = await stage.tracker.standing();
        expect(
          active.map(({ record, status }) => [record.agent_id, status])
        ).toEqual([
          [second, 'queued'],
          [third, 'queued']
        ]);
        expect(existsSync(join(arena, 'order'))).toBe(false);
        disk.free();
        await allEnded(second, third);
        expect(order()).toBe('second\nthird\n');
      }
    );

    testMounted(
      `an agent that starts at once is queued without free ${what}, and runs later`,
      async () => {
        const disk = await startOnDisk();
        justBefore('rename', '/starting', () => disk.fill(what));
        const id = await spawned('touch ran');
        await until('an attempt', () => queuedAgain.includes(id));
        expect(await statusesOf(id)).toEqual(['queued']);
        disk.free();
        await allEnded(id);
        expect(stage.hasRun('ran')).toBe(true);
      }
    );
  }

  testMounted(
    'queued agents never start after their server has closed',
    async () => {
      const disk = await startOnDisk();
      const { second, third, open } = await queue();
      disk.fill();
      expect(disconnectQueued(stage.starter, stage.store)).toEqual([
        second,
        third
      ]);
      open();
      disk.free();
      expect(stopRequestOf(stage.store.directoryOf(second))?.why).toBe(
        'disconnect'
      );
      await until('the end', () => stage.starter.ownRunning().length === 0);
      expect(existsSync(join(arena, 'order'))).toBe(false);
    }
  );
});

describe('on a full disk, an agent of a killed server', () => {
  const id = 'bbbbbbbb';

  /** @returns a function that makes room again */
  async function orphan(isPrepared: boolean): Promise<() => void> {
    await start();
    const { store, workspace } = stage;
    const [owner, cwd] = [await deadHolder(), workspace.path];
    const record = recordWith({ agent_id: id, engine: 'shell', cwd, owner });
    store.create(record, 'echo done', 'echo done');
    if (isPrepared) setStarting(store.directoryOf(id), true);
    let isFull = true;
    const refuse = () =>
      justBefore('open', '.tmp', () => {
        if (!isFull) return;
        refuse();
        throw refusal('ENOSPC', store.directoryOf(id));
      });
    refuse();
    return () => {
      isFull = false;
    };
  }

  test('that was queued is listed as over, and has its end later', async () => {
    const makeRoom = await orphan(false);
    const { tracker } = stage;
    expect(await tracker.standing()).toEqual({ active: [], over: [id] });
    const code = 'storage_full';
    await expect(tracker.run(id)).rejects.toMatchObject({ code });
    makeRoom();
    expect(await statusesOf(id)).toEqual(['interrupted']);
  });

  test('that was being prepared stays queued, and is started later', async () => {
    const makeRoom = await orphan(true);
    const { active } = await stage.tracker.standing();
    expect(active).toMatchObject([{ status: 'queued' }]);
    expect(await statusesOf(id)).toEqual(['queued']);
    makeRoom();
    await allEnded(id);
  });
});

describe('an agent whose files are refused', () => {
  test.each(['EROFS', 'ENOSPC', 'EACCES'])(
    'at its start (%s) stays queued, and is started again before later ones',
    async (code) => {
      await start();
      const { first, second, third, open } = await queue();
      const refused = refuseOutput(second, code);
      open();
      await until('two attempts', () => refused.times === 2);
      expect(await statusesOf(second, third)).toEqual(['queued', 'queued']);
      refused.isOn = false;
      await allEnded(first, second, third);
      expect(order()).toBe('second\nthird\n');
    }
  );

  test('when it gets its slot stays queued, and is started again', async () => {
    await start();
    const { first, second, third, open } = await queue();
    let times = 0;
    const refuse = () =>
      justBefore('rename', `/${second}/starting`, () => {
        times += 1;
        if (times < 3) refuse();
        throw refusal('EROFS', stage.store.directoryOf(second));
      });
    refuse();
    const began = performance.now();
    open();
    await allEnded(first, second, third);
    expect([times, order()]).toEqual([3, 'second\nthird\n']);
    // The pauses between its four attempts grow.
    expect(performance.now() - began).toBeGreaterThan(1000);
  });

  test('never starts after it was canceled, and the next one does', async () => {
    await start();
    const { first, second, third, open } = await queue();
    let isRefused = false;
    const refuse = () =>
      justBefore('rename', `/${second}/starting`, () => {
        isRefused = true;
        refuse();
        throw refusal('EROFS', stage.store.directoryOf(second));
      });
    refuse();
    open();
    await until('an attempt', () => isRefused);
    expect((await cancel(second))?.outcome?.status).toBe('canceled');
    await allEnded(first, third);
    expect(order()).toBe('third\n');
  });

  test.each([
    ['in the folder of its chat', 'make', '/chat'],
    ['in the midst of that folder', 'open', '/chat/exit']
  ] as const)('%s is queued, and has its chat later', async (_, kind, end) => {
    await start();
    justBefore(kind, end, () => {
      throw refusal('ENOSPC', end);
    });
    const createChat = { command: 'echo', args: ['chat-1'] };
    const id = await spawned('touch ran', { createChat });
    await until('an attempt', () => queuedAgain.includes(id));
    await allEnded(id);
    expect(stage.hasRun('ran')).toBe(true);
  });

  test('where its worktree is made is queued, and works in one later', async () => {
    await start({ before: makeRepository });
    justBefore('make', '/worktrees', () => {
      throw refusal('ENOSPC', 'worktrees');
    });
    const id = await spawned('pwd >where', { isolate: 'worktree' });
    await until('an attempt', () => queuedAgain.includes(id));
    await allEnded(id);
    const worktree = stage.store.recordOf(id)?.worktree?.path ?? '';
    expect(readFileSync(join(worktree, 'where'), 'utf8')).toContain(id);
  });

  test('and that an agent spawned waits for longer than for a slot', async () => {
    await start({ inside: 'eeeeeeee', config: {} });
    const directory = join(stage.store.root, 'spawns');
    let isOn = true;
    const refuse = () =>
      justBefore('rename', '/starting', () => {
        if (!isOn) return;
        justBefore('open', '/stdout', () => {
          refuse();
          throw refusal('EROFS', join(directory, 'stdout'));
        });
      });
    refuse();
    const id = await spawned('touch ran');
    await until('an attempt', () => queuedAgain.includes(id));
    const pass = stopClock();
    stage.starter.pump();
    pass(60_000);
    stage.starter.pump();
    expect(await statusesOf(id)).toEqual(['queued']);
    isOn = false;
    await until('its start', () => stage.hasRun('ran'));
  });
});
