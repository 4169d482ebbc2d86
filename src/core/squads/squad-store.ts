import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { z } from 'zod';
import { lazily } from '../lazily.ts';
import {
  createOnce,
  readIfThere,
  remove,
  syncDirectory
} from '../state/atomic-file.ts';
import { ensureDirectory } from '../state/directories.ts';

const squadSchema = lazily(() =>
  z.object({
    v: z.literal(1),
    squadId: z.string(),
    created_at: z.string(),
    stateMode: z.enum(['stateless', 'stateful']),
    /** In the order they were asked for. */
    members: z.array(
      z.object({
        memberId: z.string(),
        roleId: z.string(),
        /** Relative to the workspace, `.` for its root. */
        cwd: z.string(),
        agentId: z.string().regex(/^[0-9a-f]{8}$/)
      })
    ),
    /** The caller's own words about it. */
    metadata: z.record(z.string(), z.unknown()).optional()
  })
);

/** What one call started. Written before the first of its agents starts. */
export type Squad = z.output<ReturnType<typeof squadSchema>>;

export type SquadMember = Squad['members'][number];

/** Squads of the workspace: one file each, `squads/<squadId>.json` in the record. */
export class SquadStore {
  readonly #directory: string;

  constructor(stateDirectory: string) {
    this.#directory = join(stateDirectory, 'squads');
  }

  newId(): string {
    return `squad-${randomBytes(4).toString('hex')}`;
  }

  /** @throws the system's error when the disk does not take it. */
  create(squad: Squad): void {
    ensureDirectory(this.#directory);
    const text = `${JSON.stringify(squad, null, 2)}\n`;
    if (!createOnce(this.#pathOf(squad.squadId), text))
      throw new Error(`There is a squad ${squad.squadId} already`);
    syncDirectory(this.#directory);
  }

  /** Takes back a squad of which nothing was started. */
  discard(squadId: string): void {
    remove(this.#pathOf(squadId));
  }

  find(squadId: string): Squad | undefined {
    if (!/^squad-[0-9a-f]{8}$/.test(squadId)) return undefined;
    const text = readIfThere(this.#pathOf(squadId));
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
