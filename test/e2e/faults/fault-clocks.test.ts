import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, describe, expect } from 'vitest';
import {
  hasProc,
  processTable
} from '../../../src/adapters/child-process/process-table.ts';
import { type ParsedEntry, parseIac } from '../../kit/judges/iac-parser.ts';
import { until } from '../../kit/judges/until.ts';
import { type McpClient, startServer } from '../../kit/servers/mcp-client.ts';
import {
  createdWorker,
  enqueued,
  eventsOf,
  taskEnd,
  workerSeen
} from '../../kit/servers/orchestrator-calls.ts';
import { createOrchestratorStage } from '../../kit/servers/orchestrator-stage.ts';
import { needing } from '../../kit/workspaces/needs.ts';
import {
  shiftedClock,
  testShifted
} from '../../kit/workspaces/shifted-clock.ts';
import {
  createStepWorkspace,
  type StepWorkspace,
  stepPrompt
} from '../../kit/workspaces/step-workspace.ts';

const hour = 3600;

/** Servers look at what runs more often: what they measure has begun. */
const lookedAtMs = 1000;

const shifts: [how: string, seconds: number][] = [
  ['an hour forward', hour],
  ['an hour back', -hour]
];

const tidy: (() => unknown)[] = [];

afterEach(async () => {
  for (const step of tidy.splice(0).reverse()) await step();
});

describe.each(shifts)('while a clock is set %s', (_how, seconds) => {
  testShifted('an agent keeps its time limit, to the second', async () => {
    const { workspace, serve, clock } = prepared();
    const server = await serve(0);
    const short = await spawn(server, 'short', 60, { timeout: 3 });
    const long = await spawn(server, 'long', 3.5, { timeout: 60 });
    const third = await spawn(server, 'third', 0);
    expect(third.status).toBe('queued');
    await until('both at work', () => workspace.steps().length === 2);
    await delay(lookedAtMs);
    clock.set(seconds);
    const { data } = await server.call('list');
    for (const { sec } of [data.running, data.queued].flat().map(Object))
      expect(sec).toBeGreaterThanOrEqual(0);
    const shortMs = await endOf(workspace, server, short.id, 'timeout');
    expect(shortMs).toBeGreaterThan(2900);
    expect(shortMs).toBeLessThan(9000);
    expect(
      await endOf(workspace, server, long.id, 'completed')
    ).toBeGreaterThan(3400);
    await endOf(workspace, server, third.id, 'completed');
    await expectLogged(workspace, [short.id, long.id, third.id]);
  });

  testShifted('a worker is neither silent nor out of order', async () => {
    const stage = createOrchestratorStage('process');
    tidy.push(stage.close);
    const clock = shiftedClock(join(stage.home, 'clock'));
    const master = await stage.serve({ env: clock.env });
    const { agent_id: id } = await createdWorker(master);
    await enqueued(master, id, 'before', 'sleep 2\nsay before');
    await until('work', async () => {
      const { status } = await workerSeen(master, id);
      return status === 'busy';
    });
    await delay(lookedAtMs);
    clock.set(seconds);
    await enqueued(master, id, 'after');
    // Workers are looked at three times a second.
    const seen = new Set<string>();
    await until('the end of the task', async () => {
      seen.add((await workerSeen(master, id)).status);
      return (await eventsOf(master, id)).some(
        ({ done, task_id }) => done === true && task_id === 'before'
      );
    });
    await taskEnd(master, id, 'after');
    expect(
      [...seen].filter((status) => !/busy|ready|idle/.test(status))
    ).toEqual([]);
    const events = await eventsOf(master, id);
    expect(events.map(({ seq }) => seq)).toEqual(events.map((_, at) => at + 1));
    const ends = events
      .filter(({ done }) => done)
      .map(({ task_id }) => task_id);
    expect(ends).toEqual(['before', 'after']);
  });
});

testShifted(
  'servers whose clocks are two hours apart adopt, settle and log alike',
  async () => {
    const { workspace, serve } = prepared();
    const early = await serve(hour);
    const first = await spawn(early, 'first', 1, { request_id: 'once' });
    early.child.kill('SIGKILL');
    await early.exited;
    const late = await serve(-hour);
    const again = await spawn(late, 'first', 1, { request_id: 'once' });
    expect(again.id).toBe(first.id);
    const second = await spawn(late, 'second', 0);
    expect(await endOf(workspace, late, first.id, 'completed')).toBeGreaterThan(
      900
    );
    await endOf(workspace, late, second.id, 'completed');
    const right = await serve(0);
    const third = await spawn(right, 'third', 0);
    await endOf(workspace, right, third.id, 'completed');
    await expectLogged(workspace, [first.id, second.id, third.id]);
    const starts = workspace.steps().filter(({ what }) => what === 'start');
    expect(starts.map(({ name }) => name)).toEqual([
      'first',
      'second',
      'third'
    ]);
  }
);

testShifted(
  'a council loses no word between clocks two hours apart',
  async () => {
    const { serve } = prepared();
    const early = await serve(hour);
    const late = await serve(-hour);
    const said = async (server: McpClient, tool: string, args: object) => {
      const { data, isError, text } = await server.call(tool, { ...args });
      expect(isError, text).toBe(false);
      return data;
    };
    await said(early, 'start_council', {
      agent_name: 'early',
      request: 'Which?'
    });
    await said(late, 'join_council', { agent_name: 'late' });
    for (const round of [1, 2, 3]) {
      await said(late, 'send_response', {
        agent_name: 'late',
        content: `late ${round}`
      });
      const heard = await said(early, 'wait_for_responses', {
        agent_name: 'early',
        timeout: 5
      });
      expect(JSON.stringify(heard)).toContain(`late ${round}`);
      expect(JSON.stringify(heard)).not.toContain(`late ${round - 1}`);
      await said(early, 'send_response', {
        agent_name: 'early',
        content: `early ${round}`
      });
      const back = await said(late, 'wait_for_responses', {
        agent_name: 'late',
        timeout: 5
      });
      expect(JSON.stringify(back)).toContain(`early ${round}`);
    }
  }
);

needing('/proc', hasProc())(
  'an agent keeps its time limit over the sleep of its machine',
  async () => {
    const { workspace, serve } = prepared();
    const server = await serve(0);
    const { id } = await spawn(server, 'sleeper', 30.5, { timeout: 18 });
    await until('its work', () => workspace.steps().length === 1);
    await delay(lookedAtMs);
    const all = family(server.child.pid ?? 0);
    const signal = (name: NodeJS.Signals) => {
      for (const pid of all) process.kill(pid, name);
    };
    signal('SIGSTOP');
    // A server enforces a limit ten seconds after it, if nothing else does. The
    // supervisor counts its pauses of 15 s, and may count one too many.
    await delay(28_000).finally(() => signal('SIGCONT'));
    await endOf(workspace, server, id, 'completed');
  }
);

/** A process and all that descends from it. */
function family(pid: number): number[] {
  const children = processTable().filter(({ parent }) => parent === pid);
  return [pid, ...children.flatMap((child) => family(child.pid))];
}

interface Prepared {
  workspace: StepWorkspace;
  clock: ReturnType<typeof shiftedClock>;
  serve: (seconds: number) => Promise<McpClient>;
}

/** Two places at work; each server has a clock of its own. */
function prepared(): Prepared {
  const workspace = createStepWorkspace();
  tidy.push(workspace.remove);
  let clocks = 0;
  const clock = shiftedClock(join(workspace.home, 'clock'));
  const serve = async (seconds: number) => {
    clocks += 1;
    const own =
      seconds === 0
        ? clock
        : shiftedClock(join(workspace.home, `clock${clocks}`), seconds);
    const server = await startServer(workspace, {
      env: { ...own.env, TROUPE_MAX_CONCURRENT: '2' }
    });
    tidy.push(async () => {
      await server.close();
      expect(server.impurities).toEqual([]);
      expect(server.stderr).toBe('');
    });
    return server;
  };
  return { workspace, clock, serve };
}

async function spawn(
  server: McpClient,
  name: string,
  seconds: number,
  more: Record<string, unknown> = {}
) {
  const prompt = stepPrompt(name, seconds);
  const { data, text } = await server.call('spawn_step', { prompt, ...more });
  expect(data.agent_id, text).toMatch(/^[0-9a-f]{8}$/);
  return { id: String(data.agent_id), status: data.status };
}

/** Waits for an end of that kind; how long it took by a true clock. */
async function endOf(
  { record }: StepWorkspace,
  server: McpClient,
  agent_id: string,
  status: string
): Promise<number> {
  await server.call('wait_for_agents', { agent_ids: [agent_id], timeout: 20 });
  const { data, text } = await server.call('result', { agent_id });
  expect(data.status, text).toBe(status);
  const file = join(record, 'spawns', agent_id, 'outcome.json');
  return Number(JSON.parse(readFileSync(file, 'utf8')).duration_ms);
}

/** Every agent stands in IAC.md, with a time that can be. */
async function expectLogged(workspace: StepWorkspace, ids: string[]) {
  const entries = await until('the log', () => {
    const found: ParsedEntry[] = parseIac(workspace.iac()).entries;
    const isWhole = ids.every((id) =>
      found.some((entry) => entry.id === id && entry.done)
    );
    return isWhole ? found : undefined;
  });
  expect(entries.map(({ id }) => id).sort()).toEqual([...ids].sort());
  for (const { seconds } of entries) {
    expect(Number(seconds)).toBeGreaterThanOrEqual(0);
    expect(Number(seconds)).toBeLessThan(60);
  }
  expect(await workspace.verify()).toMatchObject({ faults: [], torn: 0 });
}
