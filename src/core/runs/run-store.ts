import { createHash, randomBytes } from 'node:crypto';
import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync
} from 'node:fs';
import { join } from 'node:path';
import { errnoOf } from '../errors.ts';
import {
  createOnce,
  readIfThere,
  remove,
  syncDirectory,
  temporaryName,
  writeNew
} from '../state/atomic-file.ts';
import { ensureDirectory } from '../state/directories.ts';
import type { Outcome, RunRecord } from './run.ts';
import { emptyExitFile } from './run-files.ts';

/** Records kept in memory. */
const maximumRecords = 2000;

/**
 * Agent folders under `.agents/spawns/<id>/`, and `.agents/open/<id>`: one
 * mark per run that has no recorded end, so that a start costs the same after
 * ten thousand runs as after ten. A mark is set before its folder appears and
 * removed after the end is in the journal.
 */
export class RunStore {
  readonly root: string;
  /** Folders on their way to `spawns`. */
  readonly drafts: string;
  readonly #spawns: string;
  readonly #open: string;
  readonly #records = new Map<string, RunRecord>();

  constructor(stateDirectory: string) {
    this.root = stateDirectory;
    this.drafts = join(stateDirectory, 'drafts');
    this.#spawns = join(stateDirectory, 'spawns');
    this.#open = join(stateDirectory, 'open');
  }

  directoryOf(agentId: string): string {
    return join(this.#spawns, agentId);
  }

  /** An id nobody has; derived from the request id when there is one. */
  newId(requestId: string | null, attempt = 0): string {
    if (requestId === null) {
      const id = randomBytes(4).toString('hex');
      return this.has(id) ? this.newId(null) : id;
    }
    return createHash('sha256')
      .update(`${attempt}\n${requestId}`)
      .digest('hex')
      .slice(0, 8);
  }

  /**
   * Puts a run on disk, whole or not at all. False when the id is taken.
   * `outcome` is given for a run that cannot start.
   * @throws the system's error when the disk does not take it.
   */
  create(
    record: RunRecord,
    prompt: string,
    stdin: string,
    outcome?: Outcome
  ): boolean {
    const { agent_id: agentId } = record;
    ensureDirectory(this.#spawns);
    ensureDirectory(this.#open);
    ensureDirectory(this.drafts);
    const marked = this.#mark(agentId);
    const draft = temporaryName(join(this.drafts, agentId));
    let place = draft;
    try {
      mkdirSync(draft, { mode: 0o700 });
      writeNew(join(draft, 'prompt.txt'), prompt);
      if (stdin !== prompt) writeNew(join(draft, 'stdin'), stdin);
      writeNew(join(draft, 'exit'), emptyExitFile);
      for (const name of ['stdout', 'stderr', 'events.jsonl'])
        writeNew(join(draft, name), '');
      if (outcome) {
        writeNew(join(draft, 'claim'), 'never\n');
        writeNew(join(draft, 'result.txt'), '');
        writeNew(join(draft, 'outcome.json'), toText(outcome));
      }
      writeNew(join(draft, 'record.json'), toText(record), true);
      renameSync(draft, this.directoryOf(agentId));
      place = this.directoryOf(agentId);
      syncDirectory(this.#spawns);
      return true;
    } catch (error) {
      rmSync(place, { recursive: true, force: true });
      const taken = ['ENOTEMPTY', 'EEXIST'].includes(errnoOf(error) ?? '');
      if (marked && !taken) this.close(agentId);
      if (taken) return false;
      throw error;
    }
  }

  /** Takes back a run whose spawn was never answered. */
  discard(agentId: string): void {
    rmSync(this.directoryOf(agentId), { recursive: true, force: true });
    this.#records.delete(agentId);
    this.close(agentId);
  }

  /** True when the run's folder is there. */
  has(agentId: string): boolean {
    return isAgentId(agentId) && existsSync(this.directoryOf(agentId));
  }

  /** Records never change, so each is read once. */
  recordOf(agentId: string): RunRecord | undefined {
    if (!isAgentId(agentId)) return undefined;
    const known = this.#records.get(agentId);
    if (known) return known;
    const path = join(this.directoryOf(agentId), 'record.json');
    const record = readJson<RunRecord>(path);
    if (this.#records.size >= maximumRecords) this.#records.clear();
    if (record) this.#records.set(agentId, record);
    return record;
  }

  outcomeOf(agentId: string): Outcome | undefined {
    if (!isAgentId(agentId)) return undefined;
    return readJson<Outcome>(join(this.directoryOf(agentId), 'outcome.json'));
  }

  /** Records how a run ended. False when that was recorded before. */
  end(agentId: string, outcome: Outcome): boolean {
    return createOnce(
      join(this.directoryOf(agentId), 'outcome.json'),
      toText(outcome)
    );
  }

  /** Ids of runs without recorded end, oldest first. */
  openIds(): string[] {
    const marks: { id: string; since: number }[] = [];
    for (const id of names(this.#open).filter(isAgentId)) {
      const since = statSync(join(this.#open, id), { throwIfNoEntry: false });
      if (since) marks.push({ id, since: since.mtimeMs });
    }
    return marks.sort((a, b) => a.since - b.since).map((mark) => mark.id);
  }

  /** True while a run's mark stands, for runs that ended a moment ago. */
  isOpen(agentId: string): boolean {
    return existsSync(join(this.#open, agentId));
  }

  /** Milliseconds since the mark was set. */
  markAge(agentId: string): number {
    const mark = statSync(join(this.#open, agentId), { throwIfNoEntry: false });
    return mark ? Date.now() - mark.mtimeMs : 0;
  }

  /** Takes the mark away: the run's end is on disk and in the journal. */
  close(agentId: string): void {
    remove(join(this.#open, agentId));
  }

  #mark(agentId: string): boolean {
    try {
      closeSync(openSync(join(this.#open, agentId), 'wx', 0o600));
      return true;
    } catch (error) {
      if (errnoOf(error) === 'EEXIST') return false;
      throw error;
    }
  }
}

function isAgentId(text: string): boolean {
  return /^[0-9a-f]{8}$/.test(text);
}

function names(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes(errnoOf(error) ?? '')) return [];
    throw error;
  }
}

function toText(value: RunRecord | Outcome): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}

/** Our own files: written whole by us, so their shape is taken as it is. */
function readJson<T>(path: string): T | undefined {
  const text = readIfThere(path);
  return text === undefined ? undefined : (JSON.parse(text) as T);
}
