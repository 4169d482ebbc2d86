import { createHash, randomBytes } from 'node:crypto';
import { existsSync, renameSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { errnoOf } from '../errors.ts';
import { fileIn } from '../paths/paths.ts';
import { currentPathIn } from '../paths/records.ts';
import {
  createOnce,
  readIfExists,
  remove,
  replaceFile,
  temporaryName,
  writeNew
} from '../state/files/atomic-file.ts';
import {
  ensureDirectory,
  isRealDirectory,
  lstatIfExists,
  namesIn
} from '../state/files/directories.ts';
import { readOnce, rememberText } from '../state/files/known-files.ts';
import { damagedIfIrregular } from '../state/files/regular-file.ts';
import {
  type DurableWork,
  doNow,
  SharedSync,
  type Together
} from '../state/files/shared-sync.ts';
import { sizeOf } from '../state/files/text-file.ts';
import { Ages, awakeMs } from '../timing.ts';
import { LostAgents } from './damaged-run.ts';
import { DiskUsage } from './disk-usage.ts';
import { isAgentId, type Outcome, type RunRecord } from './run.ts';
import { type Draft, toText, writeDraft } from './run-draft.ts';
import { wasClaimed } from './run-files.ts';
import { parseOutcome, parseRun } from './run-schema.ts';

/** Longer texts are cut on the page of an agent. */
export const mostPageBytes = 16 * 1024 * 1024;

/** A mark without a folder for so long is of a spawn that was not answered. */
const draftMs = 60_000;

/** The largest number of records in memory. */
const mostRecords = 2000;

/**
 * The folders of agents in the record, `spawns/<id>/`, and `open/<id>`, a mark
 * for each run without a recorded end. The marks keep the time of a start
 * independent of the number of ended runs. A mark is set before its folder
 * appears and removed after the journal contains the end.
 */
export class RunStore {
  readonly root: string;
  readonly pages: string | undefined;
  /** The directory of incomplete folders; complete ones move to `spawns`. */
  readonly drafts: string;
  readonly sizes: DiskUsage;
  readonly lost = new LostAgents();
  readonly #syncs = new SharedSync();
  readonly #onFirstRun: () => void;
  readonly #spawns: string;
  readonly #open: string;
  /** Read once: no record is taken over while a server uses it. */
  #currentPathOf: ((path: string) => string) | undefined;
  /** By agent id, the oldest entry first. */
  readonly #records = new Map<string, RunRecord>();
  /** The mtime of each mark that the last `openIds` found. */
  #marks = new Map<string, number>();
  /** Marks without a folder, by id. */
  readonly #unused = new Ages();

  /**
   * @param pages folder in the workspace for the pages of single agents
   * @param onFirstRun called before the first run is added to the record
   */
  constructor(
    record: string,
    pages?: string,
    onFirstRun: () => void = () => undefined
  ) {
    this.root = record;
    this.#onFirstRun = onFirstRun;
    this.pages = pages;
    this.drafts = join(record, 'drafts');
    this.sizes = new DiskUsage(record);
    this.#spawns = join(record, 'spawns');
    this.#open = join(record, 'open');
  }

  directoryOf(agentId: string): string {
    return fileIn(this.#spawns, agentId);
  }

  /**
   * An unused id, derived from the request id if there is one. The id of an
   * agent that was cleaned away is skipped.
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
   * Writes a run to disk, completely or not at all. Returns false when the id
   * is in use, or belonged to an agent that was cleaned away.
   * @param outcome the outcome of a run that cannot start
   * @throws the system's error when writing fails
   */
  create(
    record: RunRecord,
    prompt: string,
    stdin: string,
    outcome?: Outcome
  ): boolean {
    return doNow(this.#creation({ record, prompt, stdin, outcome }));
  }

  /** Like `create`, for one of many at once: they share their syncs. */
  async createShared(run: Draft, together: Together): Promise<boolean> {
    return this.#syncs.do(this.#creation(run), together);
  }

  *#creation(run: Draft): DurableWork<boolean> {
    const { agent_id: agentId, request_id: requestId } = run.record;
    if (requestId !== null && this.sizes.goneAt(agentId)) return false;
    if (!existsSync(this.#spawns)) this.#onFirstRun();
    for (const directory of [this.#spawns, this.#open, this.drafts])
      ensureDirectory(directory);
    let marked = this.#mark(agentId);
    let folder = temporaryName(join(this.drafts, agentId));
    try {
      yield* writeDraft(folder, run);
      renameSync(folder, this.directoryOf(agentId));
      folder = this.directoryOf(agentId);
      // Another server may have removed the mark of a spawn that was paused.
      if (!this.isOpen(agentId)) marked = this.#mark(agentId);
      run.admit?.();
      yield this.#spawns;
      this.#remember(run.record);
      return true;
    } catch (error) {
      rmSync(folder, { recursive: true, force: true });
      const taken = ['ENOTEMPTY', 'EEXIST'].includes(errnoOf(error) ?? '');
      if (marked && !taken) this.close(agentId);
      if (!taken) throw error;
      // The caller answers with the other run, which may be just as new.
      yield this.#spawns;
      return false;
    }
  }

  /** Removes a run whose spawn was never answered. */
  discard(agentId: string): void {
    rmSync(this.directoryOf(agentId), { recursive: true, force: true });
    this.#records.delete(agentId);
    this.close(agentId);
  }

  /**
   * The file that contains a whole answer: the agent's page in the workspace,
   * which clients open without a permission prompt, or else the file in the
   * record.
   */
  answerFile(agentId: string, { result_file: name }: Outcome): string {
    const own = fileIn(this.directoryOf(agentId), name);
    if (this.pages === undefined || sizeOf(own) > mostPageBytes) return own;
    const page = fileIn(this.pages, `${agentId}.md`);
    return lstatIfExists(page)?.isFile() ? page : own;
  }

  has(agentId: string): boolean {
    return isAgentId(agentId) && isRealDirectory(this.directoryOf(agentId));
  }

  /** Ids of all other agents with a folder, in no particular order. */
  ids(except?: ReadonlySet<string>): string[] {
    const names = namesIn(this.#spawns);
    return names.filter((id) => !except?.has(id) && this.has(id));
  }

  /** Changes whenever an agent's folder is added or removed. */
  stamp(): string {
    const { mtimeMs } = statSync(this.#spawns, { throwIfNoEntry: false }) ?? {};
    return String(mtimeMs);
  }

  /** Reads each record once, because records never change. */
  recordOf(agentId: string): RunRecord | undefined {
    if (!isAgentId(agentId)) return undefined;
    const known = this.#records.get(agentId);
    if (!this.has(agentId)) {
      this.#records.delete(agentId);
      return undefined;
    }
    if (known) return known;
    const directory = this.directoryOf(agentId);
    const path = join(directory, 'record.json');
    const text = damagedIfIrregular(() => readIfExists(path));
    const record = text === undefined ? text : this.#parsed(agentId, text);
    this.#unused.forget(agentId);
    // The server of an unclaimed run may still discard it and reuse the id.
    if (record && wasClaimed(directory)) this.#remember(record);
    return record;
  }

  /** The record with the paths that a moved workspace has now. */
  #parsed(agentId: string, text: string): RunRecord | undefined {
    const record = parseRun(agentId, text);
    if (!record) return undefined;
    this.#currentPathOf ??= currentPathIn(this.root);
    return mapPaths(record, this.#currentPathOf);
  }

  /** True when an end is recorded, even if its file is damaged. */
  hasOutcome(agentId: string): boolean {
    return existsSync(fileIn(this.directoryOf(agentId), 'outcome.json'));
  }

  outcomeOf(agentId: string): Outcome | undefined {
    if (!isAgentId(agentId)) return undefined;
    const directory = this.directoryOf(agentId);
    const path = fileIn(directory, 'outcome.json');
    const text = damagedIfIrregular(() => readOnce(path));
    const outcome = text === undefined ? undefined : parseOutcome(text);
    if (outcome) restoreResult(directory, outcome);
    return outcome;
  }

  /** Records how a run ended. Returns false if an end is recorded already. */
  end(agentId: string, outcome: Outcome): boolean {
    const path = fileIn(this.directoryOf(agentId), 'outcome.json');
    const text = toText(outcome);
    const isCreated = createOnce(path, text);
    if (isCreated) rememberText(path, text);
    return isCreated;
  }

  /** Ids of the runs with a mark, in no particular order. */
  markedIds(): string[] {
    return namesIn(this.#open).filter(isAgentId);
  }

  /** Ids of the runs with a mark, oldest mark first. */
  openIds(): string[] {
    const marks = new Map<string, number>();
    for (const id of this.markedIds()) {
      const since = this.#marks.get(id) ?? this.#markedAt(id);
      if (since !== undefined) marks.set(id, since);
    }
    this.#marks = marks;
    this.#unused.keep(marks);
    return [...marks].sort(([, a], [, b]) => a - b).map(([id]) => id);
  }

  /** True while a run has a mark: until its end is in the journal. */
  isOpen(agentId: string): boolean {
    return existsSync(join(this.#open, agentId));
  }

  /** Removes the mark of a run whose end is on disk and in the journal. */
  close(agentId: string): void {
    remove(join(this.#open, agentId));
  }

  /**
   * Gives up a spawn that this store finds without a folder for a minute. The
   * age of its mark says nothing if the clock was set meanwhile.
   * @param now by `awakeMs`
   */
  giveUpUnused(agentId: string, now = awakeMs()): void {
    if (this.#unused.of(agentId, '', now) > draftMs) this.giveUp(agentId);
  }

  /** Removes the mark of a spawn that was never answered. */
  giveUp(agentId: string): void {
    this.#unused.forget(agentId);
    if (this.has(agentId)) return;
    this.close(agentId);
    // The spawn has created its folder between the two calls. If it has ended
    // since, too, its end may still be to journal.
    if (this.has(agentId)) this.#mark(agentId);
  }

  #markedAt(agentId: string): number | undefined {
    const path = fileIn(this.#open, agentId);
    return statSync(path, { throwIfNoEntry: false })?.mtimeMs;
  }

  /** Evicts one entry at a time, or all records would be read again. */
  #remember(record: RunRecord): void {
    const [oldest] = this.#records.keys();
    if (this.#records.size >= mostRecords && oldest !== undefined)
      this.#records.delete(oldest);
    this.#records.set(record.agent_id, record);
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

function mapPaths(record: RunRecord, map: (path: string) => string): RunRecord {
  const { cwd, worktree } = record;
  if (!worktree) return { ...record, cwd: map(cwd) };
  const { path, origin } = worktree;
  const mapped = { ...worktree, path: map(path), origin: map(origin) };
  return { ...record, cwd: map(cwd), worktree: mapped };
}

/** A power failure, or the agent, may have taken the file of a short answer. */
function restoreResult(
  directory: string,
  { result_file: name, result_text: text }: Outcome
): void {
  if (text === undefined || name === 'stdout') return;
  try {
    const path = fileIn(directory, name);
    const file = lstatIfExists(path);
    const isWhole = file?.isFile() && file.size === Buffer.byteLength(text);
    if (!isWhole) replaceFile(path, text);
  } catch {
    // The disk is full or read-only: readers report that the file is gone.
  }
}
