import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import {
  createOnce,
  readIfThere,
  remove,
  syncDirectory
} from '../state/atomic-file.ts';
import { ensureDirectory } from '../state/directories.ts';

export interface SquadMember {
  memberId: string;
  roleId: string;
  /** Relative to the workspace, `.` for its root. */
  cwd: string;
  agentId: string;
}

/** What one call started. Written before the first of its agents starts. */
export interface Squad {
  v: 1;
  squadId: string;
  created_at: string;
  stateMode: 'stateless' | 'stateful';
  /** In the order they were asked for. */
  members: SquadMember[];
  /** The caller's own words about it. */
  metadata?: Record<string, unknown> | undefined;
}

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
      // Written whole by us, so its shape is taken as it is.
      const squad = JSON.parse(text) as Squad | null;
      return squad?.squadId === squadId ? squad : undefined;
    } catch {
      // Unless somebody has spoilt it.
      return undefined;
    }
  }

  #pathOf(squadId: string): string {
    return join(this.#directory, `${squadId}.json`);
  }
}
