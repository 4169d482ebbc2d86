import { readFileSync } from 'node:fs';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { hasProc } from '../../../src/adapters/child-process/process-table.ts';
import { aftermath, programsOf } from '../../kit/agents/worker-chaos.ts';
import { type Random, seededRandom } from '../../kit/judges/random.ts';
import { until } from '../../kit/judges/until.ts';
import type { McpClient } from '../../kit/servers/mcp-client.ts';
import {
  answerOf,
  createdWorker,
  eventsOf,
  workerIs,
  workerSeen,
  workersSeen
} from '../../kit/servers/orchestrator-calls.ts';
import {
  createOrchestratorStage,
  type OrchestratorStage
} from '../../kit/servers/orchestrator-stage.ts';
import { needing } from '../../kit/workspaces/needs.ts';

const testWhereSeen = needing('/proc', hasProc());
const each = 25;

let stage: OrchestratorStage;
let masters: McpClient[];

beforeEach(async () => {
  stage = createOrchestratorStage('process', {
    settings: { restart: 'on-crash' }
  });
  masters = await Promise.all([stage.serve(), stage.serve()]);
});

afterEach(() => stage?.close());

test('what two masters give and cancel at once, both see alike', async () => {
  const random = seededRandom('orchestrator-chaos-masters');
  const [one = missing(), other = missing()] = masters;
  const { agent_id: id, paths } = await createdWorker(one);
  const given = ['one', 'other'].map((name) => namesOf(name));
  const canceled = (
    await Promise.all(
      masters.map((master, index) => give(master, id, index, given, random))
    )
  ).flat();
  await until('all to be done', async () => {
    const { queue_depth, running_task_id } = await workerSeen(one, id);
    return queue_depth === 0 && running_task_id === null;
  });
  for (const master of masters)
    expect(await eventsOf(master, id)).toEqual(stage.lines(paths.outbox));
  expect(await workersSeen(one)).toEqual(await workersSeen(other));
  const events = stage.lines(paths.outbox);
  for (const taskId of canceled) {
    const about = events.filter(({ task_id }) => task_id === taskId);
    expect(about.map(({ type }) => type)).toEqual(['canceled']);
  }
  await answerOf(other, 'agent_delete', { agent_id: id });
  for (const master of masters) await workerIs(master, id, 'stopped');
  await Promise.all(masters.map((master) => master.close()));
  for (const names of given)
    expect(aftermath(stage, new Map([[id, names]]))).toEqual([]);
  const commands = readFileSync(paths.inbox, 'utf8').split('\n');
  const ofOne = commands.findLastIndex((line) => line.includes('"one-'));
  const ofOther = commands.findIndex((line) => line.includes('"other-'));
  expect(ofOther, 'they never met').toBeLessThan(ofOne);
});

test('workers that two masters make at once are of one run', async () => {
  const made = await Promise.all(
    [...masters, ...masters].map((master) => createdWorker(master))
  );
  expect(new Set(made.map(({ agent_id }) => agent_id)).size).toBe(4);
  expect(new Set(made.map(({ run_id }) => run_id)).size).toBe(1);
  for (const master of masters)
    expect((await workersSeen(master)).map(({ agent_id }) => agent_id)).toEqual(
      expect.arrayContaining(made.map(({ agent_id }) => agent_id))
    );
});

testWhereSeen('a worker that crashes is started by one of them', async () => {
  const [one = missing()] = masters;
  const { agent_id: id } = await createdWorker(one);
  for (let crash = 1; crash <= 5; crash += 1) {
    const [program = 0] = programsOf(id);
    process.kill(program, 'SIGKILL');
    await until('its successor', async () => {
      const events = await eventsOf(one, id);
      return events.filter(({ type }) => type === 'restarted').length === crash;
    });
    expect(programsOf(id)).toHaveLength(1);
  }
  const types = (await eventsOf(one, id)).map(({ type }) => type);
  const again = Array.from({ length: 5 }, () => ['crashed', 'restarted']);
  expect(types).toEqual(['ready', ...again.flat()]);
});

/** Gives its own tasks and cancels some of both masters; returns the ones that never run. */
async function give(
  master: McpClient,
  agent_id: string,
  index: number,
  given: string[][],
  random: Random
): Promise<string[]> {
  const canceled: string[] = [];
  for (const [count, task_id] of (given[index] ?? []).entries()) {
    const task = { task_id, payload: 'sleep 0.02\nsay it' };
    await answerOf(master, 'task_enqueue', { agent_id, task });
    if (random.next() < 0.6) continue;
    const whose = given[random.between(0, 1)] ?? [];
    const asked = whose[random.between(0, count)] ?? task_id;
    const { data } = await master.call('task_cancel', {
      agent_id,
      task_id: asked
    });
    if (data.state === 'canceled') canceled.push(asked);
    else if (data.state !== 'cancel_requested')
      expect(['already_done', 'unknown_task']).toContain(data.error_code);
  }
  return canceled;
}

function namesOf(name: string): string[] {
  return Array.from({ length: each }, (_, index) => `${name}-${index}`);
}

function missing(): never {
  throw new Error('There is no such master.');
}
