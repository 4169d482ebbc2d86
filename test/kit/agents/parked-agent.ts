import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { commandOf } from '../judges/command-of.ts';
import { until } from '../judges/until.ts';
import { spawnAsker } from '../servers/ask-calls.ts';
import type { McpClient } from '../servers/mcp-client.ts';
import type { TempWorkspace } from '../workspaces/temp-workspace.ts';
import { processesOf } from './probe-agent.ts';

/** Lets rehearsals park after a fifth of a second. */
export function configureParking(
  workspace: TempWorkspace,
  more: object = {}
): void {
  const settings = { engines: { rehearsal: true }, asks: { parkAfter: 0.2 } };
  workspace.write('.trouperc.json', JSON.stringify({ ...settings, ...more }));
}

/** A path in the folder of an agent. */
export const agentFile = (
  workspace: TempWorkspace,
  id: string,
  name: string
): string => join(workspace.record, 'spawns', id, name);

/** The process of an agent that runs this file of ours. */
export function runningIn(id: string, file: string): number | undefined {
  return processesOf(id).find((pid) => wordsOf(pid)[1]?.endsWith(`/${file}`));
}

/** The command line of a process; without words for one that has ended. */
export const wordsOf = (pid: number): string[] => commandOf(pid).split('\0');

/** The process that waits in place of a parked program. */
export const waitingOf = (id: string): number | undefined =>
  runningIn(id, 'parked.cjs');

/** Waits until the program of an agent is gone, and another process waits. */
export async function parked(
  workspace: TempWorkspace,
  id: string
): Promise<number> {
  await until('the end of the program', () =>
    existsSync(agentFile(workspace, id, 'asks/cleared'))
  );
  expect(runningIn(id, 'rehearsal-agent.cjs')).toBeUndefined();
  return until('the process that waits', () => waitingOf(id));
}

/** Starts a rehearsal, and waits until it is parked. */
export async function spawnParked(
  workspace: TempWorkspace,
  server: McpClient,
  script: string,
  more: object = {}
): Promise<string> {
  const id = await spawnAsker(server, script, { ask_timeout: 60, ...more });
  await parked(workspace, id);
  return id;
}

export async function nothingLeft(id: string): Promise<void> {
  await until('the end of all processes', () => processesOf(id).length === 0);
}
