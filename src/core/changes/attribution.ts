import { realpathSync } from 'node:fs';
import { basename, dirname, join, relative, resolve, sep } from 'node:path';
import type { Reply } from '../../plugin/plugin.ts';
import { isInside } from '../paths/troupe-home.ts';
import type { RunRecord } from '../runs/run.ts';
import type { RunStore } from '../runs/run-store.ts';
import { changesOf } from './change-file.ts';
import { mayWrite } from './concurrent-writers.ts';
import { worksIn } from './own-worktree.ts';
import type { FileChange } from './ports.ts';

interface Attributed {
  files: FileChange[];
  /** Number of omitted files, which this agent cannot have changed. */
  leftOut: number;
  /** Ids of the agents that worked in the same worktree before. */
  earlierIds: string[];
}

interface AttributionDependencies {
  workspace: string;
  store: RunStore;
  /** The edits that an agent's engine reported; undefined for none. */
  editsOf: (record: RunRecord) => Promise<Reply['edits']>;
}

type Has = (file: FileChange) => boolean;

interface Edits {
  has: Has;
  /** The agent changed no other files. */
  isAll: boolean;
}

/**
 * Selects the files that an agent can have changed from those that a comparison
 * found. A file that its engine reports as edited is its own. If its engine
 * reports all edits, or enforces that it only reads, other files are omitted;
 * otherwise they are shared if another agent may have changed them. A file that
 * several agents edited is shared. A worktree is compared with its first
 * commit, so files of agents that worked there earlier stay, as shared ones.
 */
export async function attributeChanges(
  found: FileChange[],
  record: RunRecord,
  otherIds: string[],
  dependencies: AttributionDependencies
): Promise<Attributed> {
  if (found.length === 0) return { files: [], leftOut: 0, earlierIds: [] };
  const { store } = dependencies;
  const earlier = earlierIn(record, dependencies).filter(({ has }) =>
    found.some(has)
  );
  const wasEarlier: Has = (file) => earlier.some(({ has }) => has(file));
  const own = await ownEdits(record, dependencies);
  const others = found.some(own.has)
    ? otherIds.flatMap((id) => store.recordOf(id) ?? [])
    : [];
  const theirs = await Promise.all(
    others.map((other) => editsIn(other, record, dependencies))
  );
  const isShared: Has = (file) =>
    wasEarlier(file) ||
    (own.has(file) ? theirs.some(({ has }) => has(file)) : otherIds.length > 0);
  const kept = found.filter(
    (file) => !own.isAll || own.has(file) || wasEarlier(file)
  );
  return {
    files: kept.map((file) =>
      isShared(file) ? { ...file, shared: true as const } : file
    ),
    leftOut: found.length - kept.length,
    earlierIds: earlier.map(({ id }) => id)
  };
}

const noEdits: Edits = { has: () => false, isAll: false };

async function ownEdits(
  record: RunRecord,
  dependencies: AttributionDependencies
): Promise<Edits> {
  return mayWrite(record)
    ? editsIn(record, record, dependencies)
    : { ...noEdits, isAll: true };
}

/** The edits of an agent, among the files of the agent that is compared. */
async function editsIn(
  record: RunRecord,
  compared: RunRecord,
  { workspace, editsOf }: AttributionDependencies
): Promise<Edits> {
  const edits = await editsOf(record).catch(() => undefined);
  if (!edits) return noEdits;
  const files = edits.paths.flatMap((path) =>
    realPathsOf(resolve(record.cwd, path))
  );
  return { has: isIn(files, compared, workspace), isAll: edits.isAll };
}

/** @param files absolute paths */
function isIn(files: string[], compared: RunRecord, workspace: string): Has {
  const names = files
    .map((file) => originalOf(file, compared))
    .filter((file) => file !== undefined)
    .map((file) => relative(workspace, file).split(sep).join('/'));
  const known = new Set(names.map(comparable));
  return (file) => namesOf(file).some((name) => known.has(comparable(name)));
}

function namesOf({ path, renamed_from }: FileChange): string[] {
  return renamed_from === undefined ? [path] : [path, renamed_from];
}

/** Some file systems return a name in another Unicode form. */
function comparable(path: string): string {
  return path.normalize('NFC');
}

/**
 * The file in the repository that a file of a worktree stands for. Undefined
 * for a file outside the worktree that is compared.
 */
function originalOf(file: string, { worktree }: RunRecord): string | undefined {
  if (!worktree) return file;
  const { path, origin } = worktree;
  const top = realPathOf(path) ?? path;
  return isInside(top, file) ? join(origin, relative(top, file)) : undefined;
}

/**
 * The path with its directory resolved, because the file may be gone or be a
 * changed link, and the file that it leads to, which an edit may have changed.
 */
function realPathsOf(file: string): string[] {
  const own = realPathOf(dirname(file));
  if (own === undefined) return [file];
  const target = realPathOf(file);
  return [join(own, basename(file)), ...(target === undefined ? [] : [target])];
}

function realPathOf(path: string): string | undefined {
  try {
    return realpathSync.native(path);
  } catch {
    return undefined;
  }
}

/** Agents that worked in a reused worktree before, with their files. */
function earlierIn(
  record: RunRecord,
  { store, workspace }: AttributionDependencies
): { id: string; has: Has }[] {
  const { agent_id: id, worktree } = record;
  if (!worktree || basename(worktree.path) === id) return [];
  return store.ids().flatMap((otherId) => {
    const other = otherId === id ? undefined : store.recordOf(otherId);
    if (!other || !worksIn(other, worktree) || !mayWrite(other)) return [];
    const changes = changesOf(store.directoryOf(otherId));
    if (!changes) return [];
    const { files = [], total } = changes;
    // Without a complete list, it may have changed any file.
    if (total !== files.length) return [{ id: otherId, has: () => true }];
    const { path, origin } = worktree;
    const from = (name: string) => {
      const file = join(workspace, name);
      return other.worktree ? join(path, relative(origin, file)) : file;
    };
    const paths = files.flatMap(namesOf).map(from);
    return [{ id: otherId, has: isIn(paths, record, workspace) }];
  });
}

/** A sentence about other agents with the same files; undefined for none. */
export function attributionNote(
  otherIds: string[],
  { leftOut, earlierIds }: Attributed,
  hasPatch: boolean
): string | undefined {
  const before = earlierIds.filter((id) => !otherIds.includes(id));
  const omitted = leftOut === 1 ? '1 file' : `${leftOut} files`;
  const isAny = otherIds.length + before.length > 0;
  const sentences = [
    otherIds.length > 0 &&
      `Others that worked in the same files meanwhile: ${named(otherIds)}.`,
    before.length > 0 &&
      `Others that worked in this worktree before: ${named(before)}.`,
    isAny && 'What they may have changed is marked as shared.',
    leftOut > 0 &&
      `Not listed${hasPatch ? ', but in the diff' : ''}: ${omitted} that this one cannot have changed.`
  ];
  return sentences.filter(Boolean).join(' ') || undefined;
}

function named(ids: string[]): string {
  const more = ids.length > 5 ? ` and ${ids.length - 5} more` : '';
  return `${ids.slice(0, 5).join(', ')}${more}`;
}
