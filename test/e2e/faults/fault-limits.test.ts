import { afterEach, beforeEach, describe, expect } from 'vitest';
import { until } from '../../kit/judges/until.ts';
import { type McpClient, startServer } from '../../kit/servers/mcp-client.ts';
import {
  asOther,
  filesOf,
  giveToOther,
  liftLimit,
  limitFiles,
  limitProcesses,
  testAsOther,
  testLimited
} from '../../kit/workspaces/scarce.ts';
import { agentsAlive } from '../../kit/workspaces/step-workspace.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../kit/workspaces/temp-workspace.ts';

let workspace: TempWorkspace;
let server: McpClient;

beforeEach(() => {
  workspace = createTempWorkspace();
});

afterEach(async () => {
  expect(await server.close()).toEqual({ code: 0, signal: null });
  expect(server.impurities).toEqual([]);
  expect(server.stderr).not.toMatch(/bug|unexpectedly|^\s+at /m);
  workspace.remove();
});

describe('a server that may open hardly any more files', () => {
  testLimited(
    'tells the agents that cannot start, and the others go on',
    async () => {
      await start();
      const before = await spawned('sleep 1\nsay before');
      expect(before.id).toBeDefined();
      const files = filesOf(server.pid);
      limitFiles(server.pid, 9);
      const tried = await Promise.all(
        Array.from({ length: 12 }, () => spawned('sleep 0.5\nsay ok'))
      );
      const ids = expectTold(tried);
      await until('room', async () => !(await server.call('list')).isError);
      const ends = await Promise.all(ids.map(ended));
      expectStartedOrNot(ends, /EMFILE/);
      expect(ends.some(({ status }) => status === 'failed')).toBe(true);
      expect(await ended(before.id)).toMatchObject({ status: 'completed' });
      liftLimit(server.pid, 'nofile');
      await expectRecovered();
      await until('all files to be closed', () => {
        return filesOf(server.pid) <= files;
      });
    }
  );

  testLimited('keeps none open of a start that failed half-way', async () => {
    await start();
    await expectRecovered();
    const files = filesOf(server.pid);
    for (let room = 0; room < 16; room += 1) {
      limitFiles(server.pid, room);
      const { id } = await spawned('say ok');
      liftLimit(server.pid, 'nofile');
      if (id !== '') await ended(id);
    }
    await expectRecovered();
    await until('all files to be closed', () => {
      return filesOf(server.pid) <= files;
    });
  });

  testLimited('takes no living agent for dead, and spares it', async () => {
    await start();
    const { id } = await spawned('sleep 2\nsay alive');
    await until('its work', () => agentsAlive(workspace).length === 1);
    for (let room = 0; room < 4; room += 1) {
      limitFiles(server.pid, room);
      // It is reported as it is, or as impossible to read.
      const { data } = await server.call('result', { agent_id: id });
      expect([data.status, data.error_code]).toContain(
        data.error_code === null || data.error_code === undefined
          ? 'running'
          : 'system_limit'
      );
    }
    liftLimit(server.pid, 'nofile');
    expect(await ended(id)).toMatchObject({ status: 'completed' });
    await expectRecovered();
  });
});

describe('an account that may start hardly any more processes', () => {
  testAsOther(
    'tells the agents that get no process, and the others go on',
    async () => {
      giveToOther(workspace);
      await start({ under: asOther });
      // It is at work until the end, or its end would make room.
      const before = await spawned('sleep 8\nsay before');
      await until('its work', async () => {
        const { data } = await server.call('result', { agent_id: before.id });
        return data.progress === 'sleep 8';
      });
      // Too few for one, or amid the start of one.
      for (const room of [0, 1, 2, 3]) {
        limitProcesses(server.pid, room);
        const tried = await Promise.all([1, 2].map(() => spawned('say ok')));
        const ends = await Promise.all(expectTold(tried).map(ended));
        // Or the program began, and got no threads.
        expectStartedOrNot(ends, /EAGAIN|no process|SIGABRT|fork|thread/);
        expect(ends.every(({ status }) => status === 'completed')).toBe(false);
      }
      liftLimit(server.pid, 'nproc');
      expect(await ended(before.id)).toMatchObject({ status: 'completed' });
      await expectRecovered();
    }
  );
});

async function start(options: { under?: string[] } = {}): Promise<void> {
  server = await startServer(workspace, {
    ...options,
    flags: ['--on-disconnect', 'stop'],
    env: { TROUPE_ENGINES: 'rehearsal', TROUPE_MAX_CONCURRENT: '40' }
  });
}

interface Tried {
  id: string;
  refused: unknown;
}

async function spawned(prompt: string): Promise<Tried> {
  const { data } = await server.call('spawn_rehearsal', { prompt });
  return { id: String(data.agent_id ?? ''), refused: data.error_code };
}

/** Ids of accepted agents; all others were refused with the reason. */
function expectTold(tried: Tried[]): string[] {
  const refused = tried.filter(({ id }) => id === '');
  for (const { refused: code } of refused) expect(code).toBe('system_limit');
  return tried.map(({ id }) => id).filter((id) => id !== '');
}

async function ended(agent_id: string) {
  return until(
    'its end',
    async () => {
      const { data, isError } = await server.call('result', { agent_id });
      if (isError) expect(data.error_code).toBe('system_limit');
      const isOver = !isError && !/queued|running/.test(String(data.status));
      return isOver ? data : undefined;
    },
    20_000
  );
}

function expectStartedOrNot(ends: Record<string, unknown>[], why: RegExp) {
  for (const { status, error } of ends)
    if (status !== 'completed') expect(String(error)).toMatch(why);
}

/** All is as before, and no process is left. */
async function expectRecovered(): Promise<void> {
  const { id } = await spawned('say again');
  expect(await ended(id)).toMatchObject({ status: 'completed' });
  const { data } = await server.call('list');
  expect(data).toMatchObject({ running: [], queued: [] });
  await until('the end of all', () => agentsAlive(workspace).length === 0);
}
