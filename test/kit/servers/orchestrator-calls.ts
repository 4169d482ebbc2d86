import { expect } from 'vitest';
import { z } from 'zod';
import { until } from '../judges/until.ts';
import type { McpClient } from './mcp-client.ts';

/** A script for a minute that stops soon after it is canceled. */
export const holding = 'sleep 0.1\n'.repeat(600);

const createdSchema = z.strictObject({
  agent_id: z.string().regex(/^[0-9a-f]{8}$/),
  tmux_pane_id: z
    .string()
    .regex(/^%\d+$/)
    .nullable(),
  run_id: z.string(),
  paths: z.strictObject({
    directory: z.string(),
    meta: z.string(),
    inbox: z.string(),
    outbox: z.string(),
    artifacts: z.string()
  }),
  status: z.literal('ready')
});

/** Creates a worker; fails the test when that fails. */
export async function createdWorker(
  master: McpClient,
  args: Record<string, unknown> = {}
): Promise<z.output<typeof createdSchema>> {
  const { data, isError, text } = await master.call('agent_create', {
    name: 'a worker',
    role: 'You do what the tasks say.',
    ...args
  });
  expect(isError, text).toBe(false);
  return createdSchema.parse(data);
}

/** Calls a tool and gives its answer; fails the test on an error. */
export async function answerOf(
  server: McpClient,
  tool: string,
  args: Record<string, unknown> = {}
): Promise<Record<string, unknown>> {
  const { data, isError, text } = await server.call(tool, args);
  expect(isError, text).toBe(false);
  expect(JSON.parse(text)).toEqual(data);
  return data;
}

const refusalSchema = z.object({
  error_code: z.string(),
  error: z.string().min(10),
  hint: z.string().min(10),
  /** What a worker's program said last, where that is of use. */
  screen: z.array(z.string()).default([])
});

/** Calls a tool that must refuse. */
export async function refusalOf(
  server: McpClient,
  tool: string,
  args: Record<string, unknown> = {}
): Promise<z.output<typeof refusalSchema>> {
  const { data, isError, text } = await server.call(tool, args);
  expect(isError, text).toBe(true);
  return refusalSchema.parse(data);
}

/** Gives a task; its place in the queue. */
export async function enqueued(
  master: McpClient,
  agent_id: string,
  task_id: string,
  payload: unknown = `say ${task_id}`
): Promise<unknown> {
  const task = { task_id, payload };
  const data = await answerOf(master, 'task_enqueue', { agent_id, task });
  expect(data).toEqual({ task_id, position: data.position });
  return data.position;
}

const factsSchema = z.looseObject({
  agent_id: z.string(),
  name: z.string(),
  role: z.string(),
  status: z.string(),
  tmux_pane_id: z.string().nullable(),
  queue_depth: z.number(),
  running_task_id: z.string().nullable(),
  last_event_seq: z.number(),
  run_id: z.string()
});

export type WorkerFacts = z.output<typeof factsSchema>;

export async function workerSeen(
  master: McpClient,
  agent_id: string
): Promise<WorkerFacts> {
  const { meta } = await answerOf(master, 'agent_get', { agent_id });
  return factsSchema.parse(meta);
}

export async function workersSeen(
  master: McpClient,
  scope?: string
): Promise<WorkerFacts[]> {
  const args = scope === undefined ? {} : { scope };
  const { agents } = await answerOf(master, 'agent_list', args);
  return z.array(factsSchema).parse(agents);
}

/** Waits for a worker to stand so. */
export function workerIs(
  master: McpClient,
  agentId: string,
  status: string,
  timeoutMs = 20_000
): Promise<WorkerFacts> {
  return until(
    `worker ${agentId} to be ${status}`,
    async () => {
      const seen = await workerSeen(master, agentId);
      return seen.status === status ? seen : undefined;
    },
    timeoutMs
  );
}

const eventSchema = z.looseObject({
  seq: z.number(),
  type: z.string(),
  task_id: z.string().optional(),
  payload: z.unknown().optional(),
  payload_file: z.string().optional(),
  done: z.boolean().optional(),
  by: z.string().optional()
});

export type SeenEvent = z.output<typeof eventSchema>;

const deltaSchema = z.strictObject({
  agent_id: z.string(),
  source: z.literal('agent').optional(),
  events: z.array(eventSchema),
  last_seq: z.number(),
  more: z.literal(true).optional()
});

/** All events of a worker, in as many calls as that takes. */
export async function eventsOf(
  master: McpClient,
  agent_id: string,
  since_seq = 0
): Promise<SeenEvent[]> {
  const events: SeenEvent[] = [];
  for (let from = since_seq; ; ) {
    const args = { agent_id, since_seq: from, max_events: 1000 };
    const data = await answerOf(master, 'events_read', args);
    const delta = deltaSchema.parse(data);
    events.push(...delta.events);
    if (!delta.more) return events;
    expect(delta.last_seq).toBeGreaterThan(from);
    from = delta.last_seq;
  }
}

/** Waits for the first event of a type, and of a task if one is named. */
export function eventSeen(
  master: McpClient,
  agentId: string,
  type: string,
  taskId?: string
): Promise<SeenEvent> {
  return until(
    `an event ${type} of ${taskId ?? agentId}`,
    async () =>
      (await eventsOf(master, agentId)).find(
        (event) =>
          event.type === type &&
          (taskId === undefined || event.task_id === taskId)
      ),
    30_000
  );
}

/** How a task ended, once it has. */
export function taskEnd(
  master: McpClient,
  agentId: string,
  taskId: string,
  timeoutMs = 30_000
): Promise<SeenEvent> {
  return until(
    `the end of task ${taskId}`,
    async () =>
      (await eventsOf(master, agentId)).find(
        ({ task_id, done }) => task_id === taskId && done
      ),
    timeoutMs
  );
}

/** The types of events; events of troupe itself in angle brackets. */
export function typesOf(events: SeenEvent[], taskId?: string): string[] {
  return events
    .filter(({ task_id }) => taskId === undefined || task_id === taskId)
    .map(({ type, by }) => (by === 'troupe' ? `<${type}>` : type));
}
