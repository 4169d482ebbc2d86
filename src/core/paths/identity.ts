import { randomBytes } from 'node:crypto';
import { accessSync, constants, existsSync, statSync } from 'node:fs';
import { userInfo } from 'node:os';
import { dirname } from 'node:path';
import { HostError, messageOf } from '../errors.ts';
import { createOnce, readIfThere } from '../state/atomic-file.ts';
import { ensureDirectory } from '../state/directories.ts';
import type { Paths } from './paths.ts';
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

/** Undefined while the workspace has no record. */
function idIn({ identity }: Pick<Paths, 'identity'>): string | undefined {
  try {
    const value: unknown = JSON.parse(readIfThere(identity) ?? 'null');
    const id =
      typeof value === 'object' && value !== null && 'id' in value
        ? value.id
        : undefined;
    return typeof id === 'string' && /^[0-9a-f]{8}$/.test(id) ? id : undefined;
  } catch {
    return undefined;
  }
}

function makeId(paths: Paths): string {
  const { record, identity, workspace } = paths;
  const id = randomBytes(4).toString('hex');
  ensureDirectory(record);
  const facts = { v: 1, id, workspace, made_at: new Date().toISOString() };
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
    if (existsSync(paths.identity))
      accessSync(record, constants.W_OK | constants.X_OK);
    else makeId(paths);
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
    return userInfo().username.replace(/[^\w.-]+/g, '-') || 'user';
  } catch {
    return `uid-${process.getuid?.() ?? 0}`;
  }
}
