import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { RunStore } from './run-store.ts';

/** A sentence about an agent that was cleaned away; undefined for others. */
export function toldIfCleaned(
  agentId: string,
  { root, sizes }: Pick<RunStore, 'root' | 'sizes'>
): string | undefined {
  const at = sizes.goneAt(agentId);
  if (at === undefined) return undefined;
  const patch = existsSync(keptPatch(root, agentId))
    ? ` The patch of its changes is kept: ${keptPatch(root, agentId)}.`
    : '';
  return `Agent ${agentId} had ended and was cleaned away (troupe clean) at ${at}; logs/ has what the log holds of it.${patch}`;
}

/** Where the patch of an agent's changes stays when its folder goes. */
export function keptPatch(stateDirectory: string, agentId: string): string {
  return join(stateDirectory, 'diffs', `${agentId}.diff`);
}
