import {
  accessSync,
  constants,
  existsSync,
  renameSync,
  statSync
} from 'node:fs';
import { userInfo } from 'node:os';
import { dirname, isAbsolute, join, relative } from 'node:path';
import { errnoOf, HostError, messageOf } from '../errors.ts';
import {
  createOnce,
  hexDigits,
  readIfExists,
  replaceFile,
  trySyncDirectory
} from '../state/files/atomic-file.ts';
import {
  ensureDirectory,
  isRealDirectory,
  namesIn
} from '../state/files/directories.ts';
import { asFileName, type Paths, pathsOf } from './paths.ts';
import { homeVariable, isInside } from './troupe-home.ts';

/** Identifies a record and its user. Views contain both. */
export interface RecordIdentity {
  /** 8 lower-case hex digits, random, set when the record is created. */
  id: string;
  /** The account name, safe as part of a file name. */
  user: string;
}

/**
 * The record's identity; creates the record if it does not exist.
 * @throws the system's error when the record cannot be written
 */
export function identityOf(paths: Paths): RecordIdentity {
  return { id: recordIdOf(paths) ?? makeId(paths), user: userName() };
}

/** Restores the identity file that was removed while the server runs. */
export function restoreIdentity(paths: Paths, { id }: RecordIdentity): void {
  if (!existsSync(paths.identity)) makeId(paths, id);
}

/**
 * The record's id; undefined while the workspace has no record.
 * @throws HostError `config_invalid` when the record belongs to another
 *   workspace, whose path has the same name and hash
 */
export function recordIdOf({
  identity,
  record,
  workspace
}: Paths): string | undefined {
  const facts = factsOf(identity);
  if (!facts || facts.workspace === workspace) return facts?.id;
  throw new HostError(
    'config_invalid',
    `${record} is the record of ${facts.workspace}, not of ${workspace}.`,
    'Rename this workspace, so that it gets a record of its own.'
  );
}

function makeId(paths: Paths, id = hexDigits(8)): string {
  const { record, identity, workspace } = paths;
  ensureDirectory(record);
  const facts: RecordFacts = { v: 1, id, workspace, formerly: [] };
  if (createOnce(identity, `${JSON.stringify(facts, null, 2)}\n`)) return id;
  const known = recordIdOf(paths);
  if (known !== undefined) return known;
  throw new HostError(
    'state_invalid',
    `${identity} is not what troupe wrote.`,
    'Move it away and call again: a new one is made, and the record is kept.'
  );
}

/**
 * Creates the record and checks that it is writable, so that a server with a
 * read-only home fails at its start.
 * @throws HostError `config_invalid` that names `TROUPE_HOME`
 */
export function prepareRecord(paths: Paths): void {
  const { home, record } = paths;
  try {
    const above = dirname(home);
    if (!process.env[homeVariable] && !statSync(above).isDirectory())
      throw new Error(`${above} is not a directory`);
    if (recordIdOf(paths) === undefined) makeId(paths);
    accessSync(record, constants.W_OK | constants.X_OK);
  } catch (error) {
    if (error instanceof HostError) throw error;
    throw new HostError(
      'config_invalid',
      `The record of this workspace cannot be written in ${home}: ${messageOf(error)}.`,
      `Make it writable, or set ${homeVariable} to a directory that is.`
    );
  }
}

function userName(): string {
  try {
    return asFileName(userInfo().username) || 'user';
  } catch {
    return `uid-${process.getuid?.() ?? 0}`;
  }
}

/** The content of `workspace.json`. */
interface RecordFacts {
  v: 1;
  id: string;
  workspace: string;
  /** Earlier paths of the workspace, oldest first. */
  formerly: string[];
}

/** Undefined when the file is missing or not valid. */
function factsOf(identity: string): RecordFacts | undefined {
  try {
    return recordFacts(JSON.parse(readIfExists(identity) ?? 'null'));
  } catch {
    return undefined;
  }
}

/** Validates without zod, because each start would load zod only for this. */
function recordFacts(value: unknown): RecordFacts | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const { v, id, workspace, formerly }: Partial<Record<string, unknown>> = {
    ...value
  };
  const isOurs =
    v === 1 &&
    typeof id === 'string' &&
    /^[0-9a-f]{8}$/.test(id) &&
    typeof workspace === 'string' &&
    isAbsolute(workspace) &&
    Array.isArray(formerly);
  if (!isOurs) return undefined;
  const paths = formerly.filter((path) => typeof path === 'string');
  return { v, id, workspace, formerly: paths };
}

interface KnownRecord {
  /** The record's directory. */
  path: string;
  workspace: string;
}

/** Records whose workspace no longer exists. */
export function orphansIn(home: string): KnownRecord[] {
  const known = recordsIn(join(home, 'workspaces'));
  return known.filter(({ workspace }) => !existsSync(workspace));
}

/** The user's records for other workspaces than that of the given record. */
export function otherRecords(record: string): KnownRecord[] {
  return recordsIn(dirname(record)).filter(({ path }) => path !== record);
}

function recordsIn(directory: string): KnownRecord[] {
  return namesIn(directory).flatMap((name) => {
    const path = join(directory, name);
    if (!isRealDirectory(path)) return [];
    const facts = factsOf(join(path, 'workspace.json'));
    return facts ? [{ path, workspace: facts.workspace }] : [];
  });
}

/** Why a record has to stay where it is. */
export interface RecordUse {
  /** `agent 1a2b3c4d is at work` */
  clause: string;
  hint: string;
}

/**
 * Takes over the record of a workspace that was moved or renamed.
 * @param from the previous path of the workspace
 * @param useOf what uses a record, if anything
 * @throws HostError `record_refused` when `from` has no record or still
 *   exists, a record is in use, or the new record has agents
 */
export function adoptRecord(
  from: string,
  to: Paths,
  useOf: (record: string) => RecordUse | undefined
): void {
  const old = pathsOf(from, to.home);
  const refuse = (message: string, hint: string) =>
    new HostError('record_refused', message, hint);
  const facts = factsOf(old.identity);
  if (!facts)
    throw refuse(
      `There is no record of ${from} in ${to.home}.`,
      'Give the path that the workspace had; troupe doctor names records whose workspace is gone.'
    );
  // First, because a worker restores its files in the former place.
  for (const { record, workspace } of [old, to]) {
    const use = useOf(record);
    if (use)
      throw refuse(
        `The record of ${workspace} is in use: ${use.clause}.`,
        use.hint
      );
  }
  if (existsSync(from))
    throw refuse(
      `${from} is still there, so its record stays with it.`,
      'Move or remove it first.'
    );
  if (namesIn(join(to.record, 'spawns')).length > 0)
    throw refuse(
      `${to.workspace} has a record of its own, with agents.`,
      'The two cannot be merged. Remove its agents with troupe clean, or keep them apart.'
    );
  ensureDirectory(dirname(to.record));
  // The new record has no agents, so it is only renamed, not merged.
  const aside = `${to.record}.before-${Date.now()}`;
  if (existsSync(to.record)) renameSync(to.record, aside);
  try {
    renameSync(old.record, to.record);
  } catch (error) {
    if (existsSync(aside)) renameSync(aside, to.record);
    throw errnoOf(error) === 'ENOENT'
      ? refuse(
          `The record of ${from} was taken over by another process just now.`,
          'Call troupe list to see what is there.'
        )
      : error;
  }
  // Before the identity changes, which would not fit the previous path.
  trySyncDirectory(dirname(to.record));
  const formerly = [...facts.formerly, facts.workspace];
  const moved: RecordFacts = { ...facts, workspace: to.workspace, formerly };
  replaceFile(to.identity, `${JSON.stringify(moved, null, 2)}\n`, true);
}

/**
 * A function that maps a path in an earlier place of the workspace to the same
 * path in its current place; it returns every other path unchanged.
 * @param record the record's directory
 */
export function currentPathIn(record: string): (path: string) => string {
  const facts = factsOf(join(record, 'workspace.json'));
  if (!facts || facts.formerly.length === 0) return (path) => path;
  const { workspace, formerly } = facts;
  return (path) => {
    const before = formerly.findLast((former) => isInside(former, path));
    // The workspace may have been moved into its former place.
    const isCurrent = isInside(workspace, path) && existsSync(path);
    return before === undefined || isCurrent
      ? path
      : join(workspace, relative(before, path));
  };
}
