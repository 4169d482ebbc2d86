import { z } from 'zod';
import { lazy } from '../../lazy.ts';
import { identitySchema } from '../../processes/process-identity.ts';

const lineSchemas = lazy(() => {
  const line = {
    seq: z.number().int().positive(),
    at: z.string(),
    task_id: z.string().optional(),
    payload: z.unknown().optional(),
    /** The file of a payload that is too long for a line. */
    payload_file: z.string().optional()
  };

  const command = z.object({
    ...line,
    type: z.enum(['task', 'cancel', 'stop'])
  });

  const event = z.object({
    ...line,
    type: z.string(),
    /** Set if the event ended its task. */
    done: z.literal(true).optional(),
    /** Set if troupe wrote the event, and not the worker. */
    by: z.literal('troupe').optional()
  });

  const broadcast = event.extend({ agent_id: z.string() });

  return { command, event, broadcast };
});

type LineSchemas = ReturnType<typeof lineSchemas>;

/** A line of a worker's inbox, written by the master. */
export type Command = z.output<LineSchemas['command']>;

/** A line of a worker's outbox, written by the worker or by troupe. */
export type WorkerEvent = z.output<LineSchemas['event']>;

/** An event in the broadcast. Its number is that of the worker's outbox. */
export type BroadcastEvent = z.output<LineSchemas['broadcast']>;

export type NewCommand = Omit<Command, 'seq' | 'at'>;
export type NewEvent = Omit<WorkerEvent, 'seq' | 'at'>;

/** Types of the events that end a task. Each task ends with one of them. */
export const terminalTypes = ['result', 'error', 'canceled'];

/**
 * Event types that only troupe writes. `delivered`: the worker got a task;
 * `requeued`: the task will be delivered again; `crashed`: the program ended;
 * `restarted`: the next program has asked for work; `stalled`: the worker was
 * silent for too long; `resumed`: it gave a sign of life again; `stopping`: it
 * got the command to stop; `stopped`: none of its processes runs.
 */
export const ownTypes = [
  'delivered',
  'requeued',
  'crashed',
  'restarted',
  'stalled',
  'resumed',
  'stopping',
  'stopped'
];

/** Whether the broadcast of a run has this event. */
export function isBroadcast({ type, done }: WorkerEvent): boolean {
  return done === true || type === 'ready' || ownTypes.includes(type);
}

export type WorkerStatus =
  | 'starting'
  | 'ready'
  | 'busy'
  | 'stalled'
  | 'stopped'
  | 'crashed';

const metaSchema = lazy(() => {
  const pane = z.object({ pane_id: z.string(), socket: z.string() });

  return z.object({
    v: z.literal(1),
    agent_id: z.string(),
    name: z.string(),
    role: z.string(),
    engine: z.string(),
    model: z.string().nullable(),
    access: z.enum(['read', 'write', 'full']),
    cwd: z.string(),
    run_id: z.string(),
    backend: z.enum(['tmux', 'process']),
    created_at: z.string(),
    pane: pane.nullable()
  });
});

/** The facts about a worker in `meta.json`; its state is in its logs. */
export type WorkerMeta = z.output<ReturnType<typeof metaSchema>>;

export function parseMeta(value: unknown): WorkerMeta | undefined {
  return metaSchema().safeParse(value).data;
}

export function parseCommand(value: unknown): Command | undefined {
  return lineSchemas().command.safeParse(value).data;
}

export function parseEvent(value: unknown): WorkerEvent | undefined {
  return lineSchemas().event.safeParse(value).data;
}

export function parseBroadcast(value: unknown): BroadcastEvent | undefined {
  return lineSchemas().broadcast.safeParse(value).data;
}

/** A worker's settings from its creation, for all servers that reconcile it. */
export const termsSchema = lazy(() =>
  z.object({
    restart: z.enum(['never', 'on-crash']),
    runningTask: z.enum(['requeue', 'fail']),
    stalledAfterSeconds: z.number(),
    readyTimeoutSeconds: z.number(),
    keepFailedPane: z.boolean(),
    onDisconnect: z.enum(['keep', 'stop']),
    /** The server that created the worker. */
    maker: identitySchema()
  })
);

export type Terms = z.output<ReturnType<typeof termsSchema>>;
