import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { errnoOf } from '../errors.ts';
import { lazily } from '../lazily.ts';
import type { ProcessIdentity } from '../runs/run.ts';
import {
  createOnce,
  readIfThere,
  remove,
  syncDirectory
} from '../state/atomic-file.ts';
import { ensureDirectory } from '../state/directories.ts';

const markSchema = lazily(() =>
  z.object({
    agent_id: z.string().regex(/^[0-9a-f]{8}$/),
    /** The council's file. */
    state: z.string(),
    owner: z.object({ pid: z.number(), start: z.string(), place: z.string() })
  })
);

/** An agent of this workspace whose answer is not in its council yet. */
export interface Mark {
  agent_id: string;
  state: string;
  owner: ProcessIdentity;
}

/**
 * `summons/<agent_id>` in the record: set before an agent is summoned, removed when
 * its answer is recorded, so that any server of the workspace does that when
 * the one that summoned it is gone.
 */
export class SummonMarks {
  readonly #directory: string;

  constructor(stateDirectory: string) {
    this.#directory = join(stateDirectory, 'summons');
  }

  /** @throws the system's error when the disk does not take it */
  set(mark: Mark): void {
    ensureDirectory(this.#directory);
    createOnce(this.#pathOf(mark.agent_id), `${JSON.stringify(mark)}\n`);
    syncDirectory(this.#directory);
  }

  remove(agentId: string): void {
    remove(this.#pathOf(agentId));
  }

  all(): Mark[] {
    return this.#names().flatMap((name) => {
      try {
        const text = readIfThere(this.#pathOf(name)) ?? '';
        return markSchema().safeParse(JSON.parse(text)).data ?? [];
      } catch {
        return [];
      }
    });
  }

  #names(): string[] {
    try {
      return readdirSync(this.#directory);
    } catch (error) {
      if (errnoOf(error) === 'ENOENT') return [];
      throw error;
    }
  }

  #pathOf(agentId: string): string {
    return join(this.#directory, agentId);
  }
}
