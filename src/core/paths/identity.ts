import { accessSync, constants, statSync } from 'node:fs';
import { userInfo } from 'node:os';
import { dirname } from 'node:path';
import { HostError, messageOf } from '../errors.ts';
import { createOnce, hexDigits } from '../state/atomic-file.ts';
import { ensureDirectory } from '../state/directories.ts';
import { asFileName } from './file-name.ts';
import type { Paths } from './paths.ts';
import { factsOf, type RecordFacts } from './records.ts';
import { homeVariable } from './troupe-home.ts';

/** Which record this is, and of whom. Views name it. */
export interface RecordIdentity {
  /** 8 lower-case hex, drawn once when the record is made. */
  id: string;
  /** The account, as it may stand in a file name. */
  user: string;
}

/**
 * The record's identity. The first process to ask makes the record.
 * @throws the system's error when it cannot be written
 */
export function identityOf(paths: Paths): RecordIdentity {
  return { id: idIn(paths) ?? makeId(paths), user: userName() };
}

/**
 * Undefined while the workspace has no record.
 * @throws HostError `config_invalid` when it is another workspace's: their
 *   paths have the same hash
 */
function idIn({ identity, record, workspace }: Paths): string | undefined {
  const facts = factsOf(identity);
  if (!facts || facts.workspace === workspace) return facts?.id;
  throw new HostError(
    'config_invalid',
    `${record} is the record of ${facts.workspace}, not of ${workspace}.`,
    'Rename this workspace, so that it gets a record of its own.'
  );
}

function makeId(paths: Paths): string {
  const { record, identity, workspace } = paths;
  const id = hexDigits(8);
  ensureDirectory(record);
  const facts: RecordFacts = { v: 1, id, workspace, formerly: [] };
  if (createOnce(identity, `${JSON.stringify(facts, null, 2)}\n`)) return id;
  const known = idIn(paths);
  if (known !== undefined) return known;
  throw new HostError(
    'state_invalid',
    `${identity} is not what troupe wrote.`,
    'Move it away and call again: a new one is made, and the record is kept.'
  );
}

/**
 * Makes the record, so that a server whose home cannot be written does not
 * start.
 * @throws HostError `config_invalid` that names `TROUPE_HOME`
 */
export function prepareRecord(paths: Paths): void {
  const { home, record } = paths;
  try {
    const above = dirname(home);
    if (!process.env[homeVariable] && !statSync(above).isDirectory())
      throw new Error(`${above} is not a directory`);
    if (idIn(paths) === undefined) makeId(paths);
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
