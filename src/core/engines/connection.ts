import {
  lstatSync,
  mkdirSync,
  readdirSync,
  type Stats,
  statSync,
  symlinkSync
} from 'node:fs';
import { dirname, join } from 'node:path';
import type {
  CliEngine,
  Connection,
  Engine,
  McpServer,
  Surroundings
} from '../../plugin/plugin.ts';
import { readIfExists, writeNew } from '../state/files/atomic-file.ts';
import { ensureDirectory } from '../state/files/directories.ts';

/** In a program's folder: the connection's files, which may hold secrets. */
export const connectionName = 'connection';

/** An engine whose program can be given an MCP server. */
export type ConnectedEngine = CliEngine & Required<Pick<CliEngine, 'connect'>>;

export function canConnect(engine: Engine): engine is ConnectedEngine {
  return engine.kind === 'cli' && engine.connect !== undefined;
}

/**
 * Gives a program an MCP server of ours, and writes the files for that.
 * @param directory the program's folder
 */
export function connected(
  engine: ConnectedEngine,
  server: McpServer,
  directory: string,
  surroundings: Omit<Surroundings, 'read'>
): Connection {
  const own = join(directory, connectionName);
  ensureDirectory(own);
  const connection = engine.connect(server, own, {
    ...surroundings,
    read: readIfExists
  });
  writeConnection(own, connection);
  return connection;
}

/** Writes the files and links of a connection into a private directory. */
export function writeConnection(
  directory: string,
  { files = {}, links = {} }: Pick<Connection, 'files' | 'links'>
): void {
  for (const [name, text] of Object.entries(files)) {
    const path = join(directory, name);
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    writeNew(path, text);
  }
  // The longest names first, so that nothing is written through a link.
  const sorted = Object.entries(links).sort(([a], [b]) => b.length - a.length);
  for (const [name, target] of sorted) link(join(directory, name), target);
}

/** Links to the user's files, except where there is ours; merges folders. */
function link(path: string, target: string): void {
  const theirs = kindOf(statSync(target, { throwIfNoEntry: false }));
  const ours = kindOf(lstatSync(path, { throwIfNoEntry: false }));
  if (theirs === undefined || ours === 'file') return;
  if (ours === undefined) {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    symlinkSync(target, path, theirs === 'folder' ? 'junction' : 'file');
  } else if (theirs === 'folder')
    for (const name of readdirSync(target))
      link(join(path, name), join(target, name));
}

function kindOf(stats: Stats | undefined): 'file' | 'folder' | undefined {
  if (!stats) return undefined;
  return stats.isDirectory() ? 'folder' : 'file';
}
