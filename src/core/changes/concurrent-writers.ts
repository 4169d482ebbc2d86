import { realpathSync } from 'node:fs';
import { basename, dirname, join, relative, resolve, sep } from 'node:path';
import type { Reply } from '../../plugin/plugin.ts';
import { isInside } from '../paths/troupe-home.ts';
import type { Processes } from '../runs/ports.ts';
import type { RunRecord } from '../runs/run.ts';
import { addEvent, eventsOf } from '../runs/run-files.ts';
import { type LiveState, liveStateOf } from '../runs/run-state.ts';
import type { RunStore } from '../runs/run-store.ts';
import { changesOf } from './change-file.ts';
import { worksIn } from './own-worktree.ts';
import type { FileChange, Repositories } from './ports.ts';

/**
 * An agent or worker that may write to files. Two of them have the same files
 * if one comparison covers the directories of both.
 */
type Writer = Pick<RunRecord, 'agent_id' | 'cwd' | 'access' | 'worktree'>;

/** A worker, for which there is no run record. */
export interface WorkerAtWork extends Writer {
  created_at: string;
  isOver: boolean;
}

export interface ConcurrentWritersDependencies {
  store: RunStore;
  processes: Processes;
  repositories: Repositories;
  workers: () => WorkerAtWork[];
}

/** The longest a spawn waits for git; then the warning is issued anyway. */
const checkMs = 120;

/**
 * Returns a warning if another agent may change the same directory, and there
 * is uncommitted work in it.
 * @param isInTurn whether members of the same squad run one after the other,
 *   and cause no warning
 */
export async function warnOfOtherWriters(
  record: RunRecord,
  dependencies: Omit<ConcurrentWritersDependencies, 'workers'> & {
    settings: { workspace: string };
  },
  isInTurn = false
): Promise<string | undefined> {
  const { repositories, settings } = dependencies;
  const { cwd: directory, kind, worktree, squad } = record;
  if (kind !== 'cli' || worktree || !mayWrite(record)) return undefined;
  if (!repositories.topOf(directory)) return undefined;
  const squadId = isInTurn ? squad?.squadId : undefined;
  const other = concurrentRuns(record, dependencies).find(
    ({ run, state }) =>
      (state === 'queued' || state === 'running') &&
      mayWrite(run) &&
      overlap(run.cwd, directory) &&
      (squadId === undefined || run.squad?.squadId !== squadId)
  );
  if (!other) return undefined;
  const view = { directory, owned: [settings.workspace] };
  const isUncommitted = await repositories
    .hasUncommitted(view, AbortSignal.timeout(checkMs))
    .catch(() => true);
  if (!isUncommitted) return undefined;
  const { agent_id: id, label } = other.run;
  const advice = squad
    ? 'give members separate files to edit'
    : 'isolate: "worktree" would keep the two apart';
  return `Agent ${id} (${label}) may be writing to the same files, where there is uncommitted work: ${advice}.`;
}

/**
 * Records in an agent's folder which other writers have the same files at the
 * same time, because a comparison finds the changes of all of them. Does so for
 * a starting agent and for the agents that it meets. An agent that has ended
 * counts until its files are compared.
 */
export function noteConcurrentWriters(
  record: RunRecord,
  dependencies: ConcurrentWritersDependencies
): void {
  const { store, repositories, workers } = dependencies;
  const own = store.directoryOf(record.agent_id);
  const note = (directory: string, agent_id: string) =>
    addEvent(directory, { type: 'beside', agent_id });
  for (const { run, state } of concurrentRuns(record, dependencies)) {
    const directory = store.directoryOf(run.agent_id);
    if (state === 'queued' || changesOf(directory)) continue;
    if (mayWrite(run)) note(own, run.agent_id);
    if (mayWrite(record)) note(directory, record.agent_id);
  }
  for (const worker of workers())
    if (!worker.isOver && mayWrite(worker))
      if (haveSameFiles(worker, record, repositories))
        note(own, worker.agent_id);
}

/** Ids of all agents and workers that may have written to the same files. */
export function concurrentWritersOf(
  record: RunRecord,
  { store, repositories, workers }: ConcurrentWritersDependencies
): string[] {
  const noted = eventsOf(store.directoryOf(record.agent_id))
    .filter(({ type }) => type === 'beside')
    .map(({ agent_id }) => String(agent_id));
  const active = workers().filter(
    (worker) =>
      (!worker.isOver || worker.created_at >= record.created_at) &&
      mayWrite(worker) &&
      haveSameFiles(worker, record, repositories)
  );
  return [...new Set([...noted, ...active.map(({ agent_id }) => agent_id)])];
}

/** Runs without a recorded end that have the same files, oldest first. */
function concurrentRuns(
  record: RunRecord,
  {
    store,
    processes,
    repositories
  }: Omit<ConcurrentWritersDependencies, 'workers'>
): { run: RunRecord; state: LiveState }[] {
  return store.openIds().flatMap((id) => {
    const run = id === record.agent_id ? undefined : store.recordOf(id);
    if (run?.kind !== 'cli' || store.hasOutcome(id)) return [];
    if (!haveSameFiles(run, record, repositories)) return [];
    const state = liveStateOf(run, store.directoryOf(id), processes);
    return [{ run, state }];
  });
}

/** A worktree is compared alone, any other directory with its repository. */
function haveSameFiles(
  one: Writer,
  other: Writer,
  { topOf }: Repositories
): boolean {
  if (one.worktree) return worksIn(other, one.worktree);
  if (other.worktree) return worksIn(one, other.worktree);
  return overlap(topOf(one.cwd) ?? one.cwd, topOf(other.cwd) ?? other.cwd);
}

function mayWrite({ access }: Writer): boolean {
  return access !== 'read';
}

/** Whether one directory is or contains the other. */
function overlap(a: string, b: string): boolean {
  return isInside(a, b) || isInside(b, a);
}

interface Attributed {
  files: FileChange[];
  /** Number of omitted files, which this agent cannot have changed. */
  leftOut: number;
}

interface AttributionDependencies {
  workspace: string;
  store: RunStore;
  /** The edits that an agent's engine reported; undefined for none. */
  editsOf: (record: RunRecord) => Promise<Reply['edits']>;
}

/**
 * Selects the files that an agent can have changed from the files that changed
 * while several agents had them. A file that its engine reports as edited is
 * its own. If its engine reports all edits, a file that only another agent's
 * engine reports is omitted. All other files are marked as shared.
 */
export async function attributeChanges(
  files: FileChange[],
  record: RunRecord,
  otherIds: string[],
  dependencies: AttributionDependencies
): Promise<Attributed> {
  if (otherIds.length === 0) return { files, leftOut: 0 };
  if (record.access === 'read' && record.enforcement === 'enforced')
    return { files: [], leftOut: files.length };
  const own = await editedBy(record, dependencies);
  const isOwn = ({ path }: FileChange) => own?.paths.has(path) === true;
  const isUnsure = files.some((file) => !isOwn(file));
  const theirs = new Set<string>();
  if (own?.isAll && isUnsure)
    for (const id of otherIds) {
      const other = dependencies.store.recordOf(id);
      const edited = other && (await editedBy(other, dependencies));
      for (const path of edited?.paths ?? []) theirs.add(path);
    }
  const kept = files.filter((file) => isOwn(file) || !theirs.has(file.path));
  return {
    files: kept.map((file) =>
      isOwn(file) ? file : { ...file, shared: true as const }
    ),
    leftOut: files.length - kept.length
  };
}

async function editedBy(
  record: RunRecord,
  { workspace, editsOf }: AttributionDependencies
): Promise<{ paths: Set<string>; isAll: boolean } | undefined> {
  const edits = await editsOf(record).catch(() => undefined);
  if (!edits) return undefined;
  const paths = edits.paths.map((path) => {
    const file = realPathOf(resolve(record.cwd, path));
    return relative(workspace, file).split(sep).join('/');
  });
  return { paths: new Set(paths), isAll: edits.isAll };
}

/** Resolves only the directory: the file may be gone, or be a changed link. */
function realPathOf(file: string): string {
  try {
    return join(realpathSync(dirname(file)), basename(file));
  } catch {
    return file;
  }
}

/** A sentence about other agents with the same files; undefined for none. */
export function otherWritersNote(
  ids: string[],
  { files: { length: total }, leftOut }: Attributed
): string | undefined {
  if (ids.length === 0) return undefined;
  const more = ids.length > 5 ? ` and ${ids.length - 5} more` : '';
  const named = `${ids.slice(0, 5).join(', ')}${more}`;
  const files = leftOut === 1 ? '1 file' : `${leftOut} files`;
  const where = total > 0 ? ', but in the diff' : '';
  const omitted =
    leftOut > 0
      ? ` Not listed${where}: ${files} that this one cannot have changed.`
      : '';
  return `Also at work in the same files meanwhile: ${named}. What they may have changed is marked as shared.${omitted}`;
}
