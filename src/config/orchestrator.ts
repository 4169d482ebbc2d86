import { join } from 'node:path';
import { z } from 'zod';
import { lazy } from '../core/lazy.ts';
import { distDirectory } from '../host/package.ts';
import { defaultConfig } from './defaults.ts';

/** The configuration's `orchestrator`. */
export const orchestratorSchema = lazy(() => {
  const seconds = z.number().positive().max(604_800);
  const defaults = defaultConfig().orchestrator;
  return z
    .strictObject({
      backend: z
        .enum(['tmux', 'process'])
        .default(defaults.backend)
        .describe(
          '`tmux`: workers in panes. `process`: in the background, without a terminal.'
        ),
      engine: z
        .string()
        .min(1)
        .default(defaults.engine)
        .describe(
          'The engine of a worker when neither the call nor its role names one.'
        ),
      restart: z
        .enum(['never', 'on-crash'])
        .default(defaults.restart)
        .describe(
          '`on-crash`: a worker whose program ends by itself is started again.'
        ),
      runningTask: z
        .enum(['requeue', 'fail'])
        .default(defaults.runningTask)
        .describe(
          'The task that was running then: `requeue` gives it again, `fail` ends it as `error`.'
        ),
      stalledAfterSeconds: seconds
        .default(defaults.stalledAfterSeconds)
        .describe('Silence after which a worker is shown as stalled.'),
      readyTimeoutSeconds: seconds
        .default(defaults.readyTimeoutSeconds)
        .describe('A new worker must have asked for work within this time.'),
      heartbeatSeconds: seconds
        .default(defaults.heartbeatSeconds)
        .describe('How often a worker reports that it is alive.'),
      keepFailedPane: z
        .boolean()
        .default(defaults.keepFailedPane)
        .describe('Keeps the pane of a failed worker open for you to inspect.')
    })
    .describe(
      'How workers run: agents that stay and take tasks from a queue. It does not switch the toolset on.'
    );
});

type OrchestratorConfig = z.output<ReturnType<typeof orchestratorSchema>>;

/** The command that starts our own server, in a clone or in the package. */
export function serverCommand(): { command: string; args: string[] } {
  return {
    command: process.execPath,
    args: [join(distDirectory(), 'troupe.cjs')]
  };
}

/** Heartbeat interval of a waiting worker, well within the stall limit. */
export function heartbeatOf(config: OrchestratorConfig): number {
  return Math.min(config.heartbeatSeconds, config.stalledAfterSeconds / 3);
}
