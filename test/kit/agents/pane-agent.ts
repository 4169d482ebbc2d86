import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  processEnvironments,
  processTable,
  thisNamespace
} from '../../../src/adapters/child-process/process-table.ts';
import type {
  PaneRef,
  Terminal
} from '../../../src/core/orchestrator/process/terminal.ts';
import type { LaunchRequest } from '../../../src/core/runs/ports.ts';
import { type Claim, claimOf } from '../../../src/core/runs/run-files.ts';
import { until } from '../judges/until.ts';
import type { TmuxStage } from '../workspaces/tmux-stage.ts';

export interface PaneAgent {
  pane: PaneRef;
  directory: string;
  request: LaunchRequest;
  /** Once the supervisor and its watchdog have written themselves down. */
  claimed: () => Promise<Claim>;
  /** The text of a file that the program writes, once it is whole. */
  wrote: (file: string) => Promise<string>;
}

/** Opens a pane and starts a shell script in it. */
export async function launchScript(
  stage: TmuxStage,
  terminal: Terminal,
  script: string,
  changes: Partial<LaunchRequest> = {}
): Promise<PaneAgent> {
  const agentId = changes.agentId ?? 'a1';
  const pane = await terminal.open({
    agentId,
    title: agentId,
    cwd: stage.path
  });
  const directory = stage.agentFolder(`${agentId}-run`);
  const request = {
    agentId,
    directory,
    command: '/bin/sh',
    args: ['-c', script, 'agent'],
    cwd: stage.path,
    timeoutSeconds: 0,
    idleTimeoutSeconds: 0,
    outputLimitBytes: 0,
    stopWithUs: false,
    ...changes,
    environment: {
      PATH: process.env.PATH ?? '',
      TROUPE_AGENT_DIR: directory,
      ...changes.environment
    }
  };
  await terminal.launch(pane, request);
  return {
    pane,
    directory,
    request,
    claimed: () =>
      until('its claim', () => {
        const claim = claimOf(directory, thisNamespace());
        return claim && claim.watchdogs.length > 0 ? claim : undefined;
      }),
    wrote: (name) => {
      const path = join(stage.path, name);
      return until(`${name} to be written`, () =>
        existsSync(path) ? readFileSync(path, 'utf8') : undefined
      );
    }
  };
}

/** All that belongs to an agent, its supervisor among it. */
export function processesOf(directory: string): number[] {
  const pids = processTable()
    .filter(({ zombie }) => !zombie)
    .map(({ pid }) => pid);
  const marker = `TROUPE_AGENT_DIR=${directory}`;
  return [...processEnvironments(pids)]
    .filter(([, text]) => text.split('\0').includes(marker))
    .map(([pid]) => pid);
}
