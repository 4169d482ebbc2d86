import { join } from 'node:path';
import type { Processes } from '../../../core/runs/ports.ts';
import { distDirectory } from '../../../host/package.ts';

/**
 * Clients whose idle session goes on by itself when a command in their
 * background shell ends. Seen with the real clients (docs/guides/notifications.md).
 */
const byShell = /claude-code|copilot/i;

/** Clients that `troupe init` gives a hook for `troupe notify`. */
const byHook = /claude-code/i;

/**
 * A sentence that names the command whose end wakes the client; empty for a
 * client that nothing wakes.
 * @param clientName its `clientInfo.name`
 */
export function wakeSentence(
  clientName: string,
  agentId: string,
  { locate }: Pick<Processes, 'locate'>
): string {
  if (!byShell.test(clientName)) return '';
  const program = locate('troupe') ? 'troupe' : ownProgram();
  return ` Or end your turn: ${program} wait ${agentId} in a background shell wakes you when it ends.`;
}

/** For a shell: troupe is not on PATH where a client starts it by its path. */
function ownProgram(): string {
  const path = join(distDirectory(), 'troupe.cjs');
  const isPlain = /^[\w./@:=-]+$/.test(path);
  return `node ${isPlain ? path : `'${path.replaceAll("'", "'\\''")}'`}`;
}

/** @param clientName its `clientInfo.name` */
export function isWokenByHook(clientName: string): boolean {
  return byHook.test(clientName);
}
