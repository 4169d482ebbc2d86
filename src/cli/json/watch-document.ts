import { z } from 'zod';
import { agentStatus, listedWorker } from './agent-document.ts';

const watchedAgent = z.strictObject({
  agent_id: z.string(),
  agent_type: z.string(),
  model: z.string(),
  status: agentStatus,
  task: z.string(),
  doing: z.string().describe('what it does now, its error, or its task'),
  created_at: z.iso.datetime(),
  completed_at: z.iso.datetime().nullable(),
  seconds: z.number(),
  cost_usd: z.number().nullable(),
  lines_added: z.number().nullable(),
  lines_removed: z.number().nullable()
});

/** `watch`. */
export const watchDocument = z.strictObject({
  today: z.strictObject({
    day: z.iso.date().describe('UTC'),
    ended: z.number(),
    not_completed: z.number(),
    cost_usd: z.number().nullable().describe('the sum of those known'),
    costs_unknown: z.number()
  }),
  agents: z.array(watchedAgent),
  workers: z.array(listedWorker)
});
export type WatchDocument = z.output<typeof watchDocument>;
