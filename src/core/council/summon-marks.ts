import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { errnoOf } from '../errors.ts';
import { lazy } from '../lazy.ts';
import type { ProcessIdentity } from '../processes/process-identity.ts';
import {
  createOnce,
  readIfExists,
  remove,
  replaceFile
} from '../state/files/atomic-file.ts';
import { ensureDirectory } from '../state/files/directories.ts';

const markSchema = lazy(() =>
  z.object({
    agent_id: z.string().regex(/^[0-9a-f]{8}$/),
    /** The council's file. */
    state: z.string(),
    started: z.literal(true).optional(),
    owner: z.object({ pid: z.number(), start: z.string(), place: z.string() })
  })
);

/** An agent of this workspace whose answer is not in its council yet. */
export interface Mark {
  agent_id: string;
  state: string;
  /** Set after the spawn: the agent has a folder, or its folder was removed. */
  started?: true | undefined;
  owner: ProcessIdentity;
}

/**
 * `summons/<agent_id>` in the record: written before an agent is summoned and
 * removed when its answer is recorded. Any server of the workspace can record
 * the answer if the summoning server is gone.
 */
export class SummonMarks {
  readonly #directory: string;

  constructor(stateDirectory: string) {
    this.#directory = join(stateDirectory, 'summons');
  }

  /** @throws the system's error when the write fails */
  set(mark: Mark): void {
    ensureDirectory(this.#directory);
    createOnce(this.#pathOf(mark.agent_id), `${JSON.stringify(mark)}\n`);
  }

  /** @throws the system's error when the write fails */
  setStarted(mark: Mark): void {
    const text = `${JSON.stringify({ ...mark, started: true })}\n`;
    replaceFile(this.#pathOf(mark.agent_id), text, true);
  }

  remove(agentId: string): void {
    remove(this.#pathOf(agentId));
  }

  all(): Mark[] {
    return this.#names().flatMap((name) => {
      try {
        const text = readIfExists(this.#pathOf(name)) ?? '';
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
