import { join } from 'node:path';
import { z } from 'zod';
import { lazy } from '../../lazy.ts';
import {
  identitySchema,
  isSameProcess,
  type ProcessIdentity
} from '../../processes/process-identity.ts';
import {
  hexDigits,
  readIfExists,
  remove,
  writeNew
} from '../../state/files/atomic-file.ts';
import { ensureDirectory, namesIn } from '../../state/files/directories.ts';
import type { Processes } from '../ports.ts';
import type { RunRecord } from '../run.ts';
import { parseJson } from '../run-files.ts';

const openWait = lazy(() =>
  z.object({
    server: identitySchema(),
    /** Of the client that waits; absent where a server has only one. */
    session: z.string().exactOptional(),
    agent_ids: z.array(z.string())
  })
);

const prefix = 'wait-';

/**
 * Writes a file that says that a client waits for agents, for processes that
 * would otherwise report their end to the same client. Never throws: without
 * the file the client gets two reports.
 * @param directory where the servers of the workspace have their marks
 * @returns a function that removes the file
 */
export function noteWait(
  directory: string,
  server: ProcessIdentity,
  session: string | undefined,
  agentIds: string[]
): () => void {
  const path = join(directory, `${prefix}${hexDigits(12)}`);
  const wait = { server, session, agent_ids: agentIds };
  try {
    ensureDirectory(directory);
    writeNew(path, JSON.stringify(wait));
  } catch {
    return () => undefined;
  }
  return () => {
    try {
      remove(path);
    } catch {
      // The file counts for nothing once this process has ended.
    }
  };
}

/**
 * Whether the client that started an agent waits for it, and so gets its
 * result. Removes the files of processes that were killed.
 */
export function isAwaited(
  { agent_id: id, owner, caller }: RunRecord,
  directory: string,
  { liveness }: Pick<Processes, 'liveness'>
): boolean {
  return namesIn(directory).some((name) => {
    if (!name.startsWith(prefix)) return false;
    const path = join(directory, name);
    const text = readIfExists(path);
    if (text === undefined) return false;
    const wait = openWait().safeParse(parseJson(text)).data;
    if (!wait) return false;
    const { server, session, agent_ids } = wait;
    if (liveness(server) === 'dead') remove(path);
    else
      return (
        isSameProcess(server, owner) &&
        session === caller?.session &&
        agent_ids.includes(id)
      );
    return false;
  });
}
