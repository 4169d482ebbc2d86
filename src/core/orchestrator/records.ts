import { z } from 'zod';
import { lazily } from '../lazily.ts';
import { identitySchema } from '../state/process-identity.ts';

/** What the master asks of a worker: a line of its inbox. */
export interface Command {
  seq: number;
  at: string;
  type: 'task' | 'cancel' | 'stop';
  task_id?: string | undefined;
  payload?: unknown;
  /** Where a payload lies that is too long for a line. */
  payload_file?: string | undefined;
}

/** What a worker has done, or what befell it: a line of its outbox. */
export interface WorkerEvent {
  seq: number;
  at: string;
  type: string;
  task_id?: string | undefined;
  payload?: unknown;
  payload_file?: string | undefined;
  /** Its task has ended with it. */
  done?: true | undefined;
  /** Written by troupe, not by the worker. */
  by?: 'troupe' | undefined;
}

export type NewCommand = Omit<Command, 'seq' | 'at'>;
export type NewEvent = Omit<WorkerEvent, 'seq' | 'at'>;

/** Of each task exactly one of these is recorded. */
export const terminalTypes = ['result', 'error', 'canceled'];

/**
 * What only troupe writes. `delivered`: a task was given to the worker;
 * `requeued`: it is to be given again; `crashed`: the program is gone;
 * `restarted`: its successor is there; `stalled` and `resumed`: it was silent
 * for too long, and no longer is; `stopping`: it was told to stop; `stopped`:
 * nothing of it runs any more.
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

/** What the broadcast tells of all workers. */
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

const metaSchema = lazily(() => {
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

/** What a worker is, in `meta.json`. How it stands is in its logs. */
export type WorkerMeta = z.output<ReturnType<typeof metaSchema>>;

const lineSchemas = lazily(() => {
  const line = {
    seq: z.number().int().positive(),
    at: z.string(),
    task_id: z.string().optional(),
    payload: z.unknown().optional(),
    payload_file: z.string().optional()
  };

  const command = z.object({
    ...line,
    type: z.enum(['task', 'cancel', 'stop'])
  });

  const event = z.object({
    ...line,
    type: z.string(),
    done: z.literal(true).optional(),
    by: z.literal('troupe').optional()
  });

  const broadcast = event.extend({ agent_id: z.string() });

  return { command, event, broadcast };
});

/** A worker's event among those of all. Its number is the worker's. */
export interface BroadcastEvent extends WorkerEvent {
  agent_id: string;
}

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

/** What was settled for a worker when it was made, for whoever looks after it. */
export const termsSchema = lazily(() =>
  z.object({
    restart: z.enum(['never', 'on-crash']),
    runningTask: z.enum(['requeue', 'fail']),
    stalledAfterSeconds: z.number(),
    readyTimeoutSeconds: z.number(),
    keepFailedPane: z.boolean(),
    onDisconnect: z.enum(['keep', 'stop']),
    /** The server that made it. */
    maker: identitySchema()
  })
);

export type Terms = z.output<ReturnType<typeof termsSchema>>;
