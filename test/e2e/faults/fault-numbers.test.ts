import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect } from 'vitest';
import { until } from '../../kit/judges/until.ts';
import { type McpClient, startServer } from '../../kit/servers/mcp-client.ts';
import {
  answerOf,
  createdWorker,
  workerIs
} from '../../kit/servers/orchestrator-calls.ts';
import { createOrchestratorStage } from '../../kit/servers/orchestrator-stage.ts';
import { createLockContest } from '../../kit/workspaces/lock-contest.ts';
import {
  createPidNamespace,
  type PidNamespace,
  testInNamespace
} from '../../kit/workspaces/pid-namespace.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../kit/workspaces/temp-workspace.ts';

const tidy: (() => unknown)[] = [];

afterEach(async () => {
  for (const step of tidy.splice(0).reverse()) await step();
});

describe('the number of a process that is gone belongs to a stranger now:', () => {
  testInNamespace(
    'an agent whose supervisor had it is interrupted',
    async () => {
      const { space, workspace, serve } = await prepared();
      const server = await serve();
      const id = await started(server, 'hang');
      const supervisor = supervisorOf(workspace, id);
      await kill(server);
      space.killGroup(supervisor);
      await numberFree(space, supervisor);
      space.occupy(supervisor);
      const next = await serve();
      const { data } = await next.call('result', { agent_id: id });
      expect(data).toMatchObject({ status: 'interrupted', success: false });
      await next.call('cancel_agent', { agent_id: id });
      expect(space.stateOf(supervisor)).toBe('S');
    }
  );

  testInNamespace('an agent whose server had it never starts', async () => {
    const { space, workspace, serve } = await prepared();
    const server = await serve();
    const running = await started(server, 'hang');
    const { data } = await server.call('spawn_rehearsal', { prompt: 'say x' });
    expect(data.status).toBe('queued');
    const id = String(data.agent_id);
    const { owner } = JSON.parse(
      readFileSync(join(folderOf(workspace, id), 'record.json'), 'utf8')
    );
    await kill(server);
    await numberFree(space, owner.pid);
    space.occupy(owner.pid);
    const next = await serve();
    const seen = await next.call('result', { agent_id: id });
    expect(seen.data).toMatchObject({ status: 'interrupted' });
    const other = await next.call('cancel_agent', { agent_id: running });
    expect(other.data.status).toBe('canceled');
    expect(space.stateOf(owner.pid)).toBe('S');
  });

  testInNamespace('a lock whose holder had it is taken over', async () => {
    const space = await createPidNamespace(true);
    tidy.push(space.close);
    const contest = await createLockContest();
    tidy.push(contest.remove);
    const arena = contest.arena('numbers');
    const { under } = space;
    const dying = contest.start(arena, {
      ...{ under, me: 'dying' },
      program: 'lock.hold(() => process.kill(process.pid, "SIGKILL"));'
    });
    await dying.ended;
    const lock = readFileSync(join(arena, 'lock'), 'utf8');
    const { pid } = JSON.parse(lock);
    space.occupy(pid);
    const next = contest.start(arena, { under, me: 'next' });
    expect(await next.ended).toBe(0);
    expect(space.stateOf(pid)).toBe('S');
  });

  testInNamespace('a worker whose program had it has crashed', async () => {
    const space = await createPidNamespace(true);
    tidy.push(space.close);
    const stage = createOrchestratorStage('process', {
      settings: { restart: 'never' }
    });
    tidy.push(stage.close);
    const { under } = space;
    const master = await stage.serve({ under });
    const { agent_id: id } = await createdWorker(master);
    const claim = join(stage.record, 'workers', id);
    const numbers = stage.processes(id);
    expect(numbers.length).toBeGreaterThan(0);
    const supervisor = Number.parseInt(
      space.run('cat "$1"/*/claim', claim),
      10
    );
    await stage.kill(master);
    space.killGroup(supervisor);
    await until('its end', () => stage.processes(id).length === 0);
    await numberFree(space, supervisor);
    space.occupy(supervisor);
    const next = await stage.serve({ under });
    await workerIs(next, id, 'crashed');
    await answerOf(next, 'agent_delete', { agent_id: id, force: true });
    expect(space.stateOf(supervisor)).toBe('S');
  });
});

describe('where dead processes are never reaped', () => {
  testInNamespace('an agent that is a zombie is not running', async () => {
    const { space, workspace, serve } = await prepared(false);
    const server = await serve();
    const id = await started(server, 'hang');
    const supervisor = supervisorOf(workspace, id);
    await kill(server);
    space.killGroup(supervisor);
    await until('zombies', () => space.stateOf(supervisor) === 'Z');
    const next = await serve();
    const began = performance.now();
    const { data } = await next.call('cancel_agent', { agent_id: id });
    expect(data).toMatchObject({ status: 'interrupted' });
    expect(performance.now() - began).toBeLessThan(5000);
    expect(space.stateOf(supervisor)).toBe('Z');
  });

  testInNamespace(
    'an agent is canceled all the same, and its children',
    async () => {
      const { serve } = await prepared(false);
      const server = await serve();
      const id = await started(server, 'leave-child\nleave-daemon\nhang');
      await kill(server);
      const next = await serve();
      const { data } = await next.call('cancel_agent', { agent_id: id });
      expect(data).toMatchObject({ status: 'canceled' });
    }
  );
});

/** Servers with process numbers of their own, and one place at work. */
async function prepared(reaps = true) {
  const space = await createPidNamespace(reaps);
  tidy.push(space.close);
  const workspace = createTempWorkspace();
  tidy.push(workspace.remove);
  const serve = async () => {
    const server = await startServer(workspace, {
      under: space.under,
      env: { TROUPE_ENGINES: 'rehearsal', TROUPE_MAX_CONCURRENT: '1' }
    });
    tidy.push(async () => {
      await server.close();
      expect(server.impurities).toEqual([]);
    });
    return server;
  };
  return { space, workspace, serve };
}

/** An agent that is at the last line of its script. */
async function started(server: McpClient, prompt: string): Promise<string> {
  const { data } = await server.call('spawn_rehearsal', { prompt });
  expect(data.status).toBe('running');
  const agent_id = String(data.agent_id);
  await until('its last line', async () => {
    const seen = await server.call('result', { agent_id });
    return seen.data.progress === prompt.split('\n').at(-1);
  });
  return agent_id;
}

async function kill(server: McpClient): Promise<void> {
  server.child.kill('SIGKILL');
  await server.exited;
}

function folderOf({ record }: TempWorkspace, id: string): string {
  return join(record, 'spawns', id);
}

/** Its number inside the namespace. */
function supervisorOf(workspace: TempWorkspace, id: string): number {
  const claim = readFileSync(join(folderOf(workspace, id), 'claim'), 'utf8');
  return Number.parseInt(claim, 10);
}

function numberFree(space: PidNamespace, pid: number) {
  return until('the number', () => space.stateOf(pid) === undefined);
}
