import { join } from 'node:path';
import { z } from 'zod';
import { distDirectory } from './dist-directory.ts';

const seconds = z.number().positive().max(604_800);

/** The configuration's `orchestrator`. */
export const orchestratorSchema = z
  .strictObject({
    backend: z
      .enum(['tmux', 'process'])
      .default('tmux')
      .describe('process: workers in the background, without panes'),
    engine: z
      .string()
      .min(1)
      .default('gemini-cli')
      .describe('what a worker runs on when nobody says'),
    restart: z
      .enum(['never', 'on-crash'])
      .default('never')
      .describe('what happens when the program of a worker ends by itself'),
    runningTask: z
      .enum(['requeue', 'fail'])
      .default('requeue')
      .describe('what happens then to the task it was at'),
    stalledAfterSeconds: seconds
      .default(300)
      .describe('silence after which a worker counts as stalled'),
    readyTimeoutSeconds: seconds
      .default(60)
      .describe('until a new worker must have asked for work'),
    heartbeatSeconds: seconds
      .default(60)
      .describe('how often a worker shows that it lives'),
    keepFailedPane: z
      .boolean()
      .default(false)
      .describe('leaves the pane of a worker that failed, to look at')
  })
  .describe('Workers that stay, and get their tasks from a queue');

export type OrchestratorConfig = z.output<typeof orchestratorSchema>;

/** What starts a server of ours, from a clone or from the package. */
export function serverCommand(): { command: string; args: string[] } {
  return {
    command: process.execPath,
    args: [join(distDirectory(), 'troupe.cjs')]
  };
}

/** So often a worker that waits says that it lives: within any silence. */
export function heartbeatOf(config: OrchestratorConfig): number {
  return Math.min(config.heartbeatSeconds, config.stalledAfterSeconds / 3);
}
