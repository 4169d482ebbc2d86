import { createHash, randomBytes } from 'node:crypto';
import { existsSync, renameSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { errnoOf } from '../errors.ts';
import {
  createOnce,
  readIfThere,
  remove,
  syncDirectory,
  writeNew
} from '../state/atomic-file.ts';
import {
  ensureDirectory,
  isRealDirectory,
  lookAt,
  namesIn
} from '../state/directories.ts';
import { fileIn } from '../state/file-in.ts';
import { fillIn } from '../state/own-file.ts';
import { sizeOf } from '../state/text-file.ts';
import { RecordMemory } from './record-memory.ts';
import type { Outcome, RunRecord } from './run.ts';
import { wasClaimed } from './run-files.ts';
import { SizeLedger } from './size-ledger.ts';
import { SpareFolders } from './spare-folders.ts';
import { parseOutcome, parseRun } from './stored.ts';

/** Up to this many bytes the page of an agent holds a text whole. */
export const mostPageBytes = 16 * 1024 * 1024;

/**
 * Agent folders in the record, `spawns/<id>/`, and `open/<id>`: one
 * mark per run that has no recorded end, so that a start costs the same after
 * ten thousand runs as after ten. A mark is set before its folder appears and
 * removed after the end is in the journal.
 */
export class RunStore {
  readonly root: string;
  readonly pages: string | undefined;
  /** Folders on their way to `spawns`. */
  readonly drafts: string;
  readonly spare: SpareFolders;
  readonly sizes: SizeLedger;
  readonly #spawns: string;
  readonly #open: string;
  readonly #records = new RecordMemory();
  /** When the marks were set that were there at the last look. */
  #marks = new Map<string, number>();

  /** @param pages where views of single agents lie, in the workspace */
  constructor(record: string, pages?: string) {
    this.root = record;
    this.pages = pages;
    this.drafts = join(record, 'drafts');
    this.spare = new SpareFolders(this.drafts);
    this.sizes = new SizeLedger(record);
    this.#spawns = join(record, 'spawns');
    this.#open = join(record, 'open');
  }

  directoryOf(agentId: string): string {
    return fileIn(this.#spawns, agentId);
  }

  /**
   * An id nobody has; derived from the request id when there is one. Then it
   * is passed over when an agent had it that was cleaned away.
   */
  newId(requestId: string | null, attempt = 0): string {
    if (requestId === null) {
      const id = randomBytes(4).toString('hex');
      return this.has(id) ? this.newId(null) : id;
    }
    const id = createHash('sha256')
      .update(`${attempt}\n${requestId}`)
      .digest('hex')
      .slice(0, 8);
    const isGone = !this.has(id) && this.sizes.goneAt(id) !== undefined;
    return isGone ? this.newId(requestId, attempt + 1) : id;
  }

  /**
   * Puts a run on disk, whole or not at all. False when the id is or was taken.
   * `outcome` is given for a run that cannot start.
   * @throws the system's error when the disk does not take it.
   */
  create(
    record: RunRecord,
    prompt: string,
    stdin: string,
    outcome?: Outcome
  ): boolean {
    const { agent_id: agentId, request_id: requestId } = record;
    if (requestId !== null && this.sizes.goneAt(agentId)) return false;
    for (const directory of [this.#spawns, this.#open, this.drafts])
      ensureDirectory(directory);
    const marked = this.#mark(agentId);
    let place: string | undefined;
    try {
      const draft = this.spare.take();
      place = draft;
      fillIn(join(draft, 'prompt.txt'), prompt);
      if (stdin !== prompt) writeNew(join(draft, 'stdin'), stdin);
      if (outcome) {
        writeNew(join(draft, 'claim'), 'never\n');
        writeNew(join(draft, 'result.txt'), '');
        writeNew(join(draft, 'outcome.json'), toText(outcome));
      }
      fillIn(join(draft, 'record.json'), toText(record), true);
      renameSync(draft, this.directoryOf(agentId));
      place = this.directoryOf(agentId);
      // Who was paused before that may have been given up.
      if (!this.isOpen(agentId)) this.#mark(agentId);
      syncDirectory(this.#spawns);
      this.#records.keep(record);
      return true;
    } catch (error) {
      if (place !== undefined) rmSync(place, { recursive: true, force: true });
      const taken = ['ENOTEMPTY', 'EEXIST'].includes(errnoOf(error) ?? '');
      if (marked && !taken) this.close(agentId);
      if (taken) return false;
      throw error;
    }
  }

  /** Takes back a run whose spawn was never answered. */
  discard(agentId: string): void {
    rmSync(this.directoryOf(agentId), { recursive: true, force: true });
    this.#records.forget(agentId);
    this.close(agentId);
  }

  /**
   * The file that a reader may open for all of an answer: the agent's page in
   * the workspace, which clients open without asking, else the record's own.
   */
  answerFile(agentId: string, { result_file: name }: Outcome): string {
    const own = fileIn(this.directoryOf(agentId), name);
    if (this.pages === undefined || sizeOf(own) > mostPageBytes) return own;
    const page = fileIn(this.pages, `${agentId}.md`);
    return lookAt(page)?.isFile() ? page : own;
  }

  /** True when the run's folder is there. */
  has(agentId: string): boolean {
    return isAgentId(agentId) && isRealDirectory(this.directoryOf(agentId));
  }

  /** Of all agents whose folder is there, in no order. */
  ids(): string[] {
    return namesIn(this.#spawns).filter((id) => this.has(id));
  }

  /** Changes whenever an agent's folder comes or goes. */
  stamp(): string {
    const { mtimeMs } = statSync(this.#spawns, { throwIfNoEntry: false }) ?? {};
    return String(mtimeMs);
  }

  /** Records never change, so each is read once; its folder may be cleaned. */
  recordOf(agentId: string): RunRecord | undefined {
    if (!isAgentId(agentId)) return undefined;
    const known = this.#records.get(agentId);
    if (!this.has(agentId)) {
      this.#records.forget(agentId);
      return undefined;
    }
    if (known) return known;
    const directory = this.directoryOf(agentId);
    const text = readIfThere(join(directory, 'record.json'));
    const record = text === undefined ? text : parseRun(agentId, text);
    // Before, its server may take it back, and make another of that id.
    const stays = wasClaimed(directory);
    if (record && stays) this.#records.keep(record);
    return record;
  }

  /** True when its end is recorded, though it may have been spoilt since. */
  hasOutcome(agentId: string): boolean {
    return existsSync(fileIn(this.directoryOf(agentId), 'outcome.json'));
  }

  outcomeOf(agentId: string): Outcome | undefined {
    if (!isAgentId(agentId)) return undefined;
    const text = readIfThere(fileIn(this.directoryOf(agentId), 'outcome.json'));
    return text === undefined ? undefined : parseOutcome(text);
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
    const marks = new Map<string, number>();
    for (const id of namesIn(this.#open).filter(isAgentId)) {
      const since = this.#marks.get(id) ?? this.#markedAt(id);
      if (since !== undefined) marks.set(id, since);
    }
    this.#marks = marks;
    return [...marks].sort(([, a], [, b]) => a - b).map(([id]) => id);
  }

  /** True while a run's mark stands, for runs that ended a moment ago. */
  isOpen(agentId: string): boolean {
    return existsSync(join(this.#open, agentId));
  }

  /** Milliseconds since the mark was set. */
  markAge(agentId: string): number {
    const since = this.#markedAt(agentId);
    return since === undefined ? 0 : Date.now() - since;
  }

  /** Takes the mark away: the run's end is on disk and in the journal. */
  close(agentId: string): void {
    remove(join(this.#open, agentId));
  }

  /** Takes the mark away of a spawn that was never answered. */
  giveUp(agentId: string): void {
    if (this.has(agentId)) return;
    this.close(agentId);
    // It comes after all.
    if (this.has(agentId) && !this.outcomeOf(agentId)) this.#mark(agentId);
  }

  #markedAt(agentId: string): number | undefined {
    const path = fileIn(this.#open, agentId);
    return statSync(path, { throwIfNoEntry: false })?.mtimeMs;
  }

  #mark(agentId: string): boolean {
    try {
      writeNew(join(this.#open, agentId), '');
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

function toText(value: RunRecord | Outcome): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}
