import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { z } from 'zod';
import { lazy } from '../lazy.ts';
import type { Run } from '../runs/run.ts';
import { stopRequestOf } from '../runs/run-files.ts';
import {
  createOnce,
  readIfExists,
  remove
} from '../state/files/atomic-file.ts';
import { ensureDirectory } from '../state/files/directories.ts';

const squadSchema = lazy(() =>
  z.object({
    v: z.literal(1),
    squadId: z.string(),
    created_at: z.string(),
    stateMode: z.enum(['stateless', 'stateful']),
    /** In the order of the request. */
    members: z.array(
      z.object({
        memberId: z.string(),
        roleId: z.string(),
        /** Relative to the workspace, `.` for its root. */
        cwd: z.string(),
        agentId: z.string().regex(/^[0-9a-f]{8}$/)
      })
    ),
    /** The caller's own data. */
    metadata: z.record(z.string(), z.unknown()).optional()
  })
);

/** The agents of one call. Written before the first of them starts. */
export type Squad = z.output<ReturnType<typeof squadSchema>>;

export type SquadMember = Squad['members'][number];

/** The squads of the workspace, as `squads/<squadId>.json` in the record. */
export class SquadStore {
  readonly #directory: string;

  constructor(stateDirectory: string) {
    this.#directory = join(stateDirectory, 'squads');
  }

  newId(): string {
    return `squad-${randomBytes(4).toString('hex')}`;
  }

  /** @throws the system's error when the write fails */
  create(squad: Squad): void {
    ensureDirectory(this.#directory);
    const text = `${JSON.stringify(squad, null, 2)}\n`;
    if (!createOnce(this.#pathOf(squad.squadId), text))
      throw new Error(`There is a squad ${squad.squadId} already`);
  }

  /** Removes a squad whose agents were not started. */
  discard(squadId: string): void {
    remove(this.#pathOf(squadId));
  }

  find(squadId: string): Squad | undefined {
    if (!/^squad-[0-9a-f]{8}$/.test(squadId)) return undefined;
    const text = readIfExists(this.#pathOf(squadId));
    if (text === undefined) return undefined;
    try {
      const squad = squadSchema().safeParse(JSON.parse(text)).data;
      return squad?.squadId === squadId ? squad : undefined;
    } catch {
      return undefined;
    }
  }

  #pathOf(squadId: string): string {
    return join(this.#directory, `${squadId}.json`);
  }
}

type MemberStatus =
  | 'completed'
  | 'error'
  | 'timeout'
  | 'canceled'
  | 'running'
  | 'queued';

/**
 * A member's status, from its exit code and whether it was stopped, never from
 * its output. An API has no exit code of its own.
 */
export function memberStatusOf(
  { record, status, outcome }: Run,
  directory: string
): MemberStatus {
  if (!outcome) return status === 'queued' ? 'queued' : 'running';
  if (outcome.status === 'timeout' || outcome.status === 'canceled')
    return outcome.status;
  if (record.kind === 'api')
    return outcome.status === 'completed' ? 'completed' : 'error';
  // Some programs exit with 0 when they are stopped.
  const wasStopped = stopRequestOf(directory) !== undefined;
  return outcome.exit_code === 0 && !wasStopped ? 'completed' : 'error';
}
