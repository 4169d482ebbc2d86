import { existsSync, renameSync } from 'node:fs';
import { dirname, isAbsolute, join } from 'node:path';
import { errnoOf, HostError } from '../errors.ts';
import { readIfThere, replaceFile } from '../state/atomic-file.ts';
import {
  ensureDirectory,
  isRealDirectory,
  namesIn
} from '../state/directories.ts';
import type { Witnesses } from '../state/file-lock.ts';
import { processMarks } from '../state/process-marks.ts';
import { isHexId } from './file-name.ts';
import { type Paths, pathsOf } from './paths.ts';

/** What a record says of itself, in `workspace.json`. */
export interface RecordFacts {
  v: 1;
  id: string;
  workspace: string;
  /** Where the workspace was before, when its record was taken over. */
  formerly: string[];
}

/** Undefined where there is no record, or its file is not as troupe made it. */
export function factsOf(identity: string): RecordFacts | undefined {
  try {
    return recordFacts(JSON.parse(readIfThere(identity) ?? 'null'));
  } catch {
    return undefined;
  }
}

/** Checked by hand, because each start reads it and needs no other schema. */
function recordFacts(value: unknown): RecordFacts | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const { v, id, workspace, formerly }: Partial<Record<string, unknown>> = {
    ...value
  };
  const isOurs =
    v === 1 &&
    typeof id === 'string' &&
    isHexId(id) &&
    typeof workspace === 'string' &&
    isAbsolute(workspace) &&
    Array.isArray(formerly);
  if (!isOurs) return undefined;
  const paths = formerly.filter((path) => typeof path === 'string');
  return { v, id, workspace, formerly: paths };
}

export interface KnownRecord {
  /** Its directory. */
  path: string;
  workspace: string;
}

/** Records whose workspace is gone. */
export function orphansIn(home: string): KnownRecord[] {
  const directory = join(home, 'workspaces');
  return namesIn(directory).flatMap((name) => {
    const path = join(directory, name);
    if (!isRealDirectory(path)) return [];
    const facts = factsOf(join(path, 'workspace.json'));
    if (!facts || existsSync(facts.workspace)) return [];
    return [{ path, workspace: facts.workspace }];
  });
}

/** Whether a server lives in a record. */
export function isServed(
  record: string,
  witnesses: Pick<Witnesses, 'liveness'>
): boolean {
  const marks = processMarks(join(record, 'servers'), witnesses);
  return marks.some(({ isAlive }) => isAlive);
}

/**
 * Takes the record of a workspace that was moved or renamed over to where it
 * is now.
 * @param from the path that the workspace had
 * @throws HostError `record_refused` when there is nothing to take over, or
 *   something would be lost
 */
export function takeRecord(
  from: string,
  to: Paths,
  witnesses: Pick<Witnesses, 'liveness'>
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
  if (existsSync(from))
    throw refuse(
      `${from} is still there, so its record stays with it.`,
      'Move or remove it first.'
    );
  for (const { record } of [old, to])
    if (isServed(record, witnesses))
      throw refuse(
        `A server of troupe works with ${record}.`,
        'Close the clients of that workspace and call again.'
      );
  if (namesIn(join(to.record, 'spawns')).length > 0)
    throw refuse(
      `${to.workspace} has a record of its own, with agents.`,
      'Both cannot be one. Remove its agents with troupe clean, or keep them apart.'
    );
  ensureDirectory(dirname(to.record));
  // What is there has no agents: it stays beside, under a name of its own.
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
  const formerly = [...facts.formerly, facts.workspace];
  const moved: RecordFacts = { ...facts, workspace: to.workspace, formerly };
  replaceFile(to.identity, `${JSON.stringify(moved, null, 2)}\n`, true);
}

/** A path in the workspace, where that is now. */
export function pathNow(path: string, paths: Paths): string {
  const { formerly = [] } = factsOf(paths.identity) ?? {};
  const before = formerly.findLast(
    (former) => path === former || path.startsWith(`${former}/`)
  );
  return before === undefined
    ? path
    : join(paths.workspace, path.slice(before.length));
}
