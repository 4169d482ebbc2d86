import { basename, sep } from 'node:path';
import { troupeHome } from './troupe-home.ts';

/** All paths that troupe uses for a workspace. */
export interface Paths {
  /** The real path of the workspace. */
  workspace: string;
  /** The user's own directory, `~/.troupe`. */
  home: string;
  /** `<home>/workspaces/<name>-<hash>`: the record of this workspace. */
  record: string;
  /** The file with the record's id and the path of its workspace. */
  identity: string;
  /** The append-only journal; rotation moves it to `segments`. */
  journal: string;
  segments: string;
  heads: string;
  rotationLock: string;
  /** A directory with a file for each server of this workspace and each wait. */
  servers: string;
  /** The file with the bearer token of the HTTP server. */
  token: string;
  /** The address and the secret of the running `troupe web`. */
  webDoor: string;
  views: ViewPaths;
  /** Folders in the workspace that agents or git use. */
  shared: SharedPaths;
}

/** Files generated from the record; they may be deleted at any time. */
export interface ViewPaths {
  directory: string;
  archive: string;
  /** The folder of the agents' pages, `<agent_id>.md`. */
  agents: string;
}

interface SharedPaths {
  directory: string;
  /** The folders of workers: meta, inbox, outbox and artifacts. */
  agents: string;
  /** Broadcasts to workers. */
  run: string;
  worktrees: string;
  council: string;
}

/** @param workspace the real path, which determines the record */
export function pathsOf(workspace: string, home = troupeHome()): Paths {
  const record = fileIn(fileIn(home, 'workspaces'), recordName(workspace));
  const logs = fileIn(workspace, 'logs');
  const shared = fileIn(workspace, '.agents');
  return {
    workspace,
    home,
    record,
    identity: fileIn(record, 'workspace.json'),
    journal: fileIn(record, 'iac.jsonl'),
    segments: fileIn(record, 'journal'),
    heads: fileIn(record, 'heads'),
    rotationLock: fileIn(fileIn(record, 'rotation'), 'lock'),
    servers: fileIn(record, 'servers'),
    token: fileIn(fileIn(record, 'http'), 'token'),
    webDoor: fileIn(fileIn(record, 'web'), 'door.json'),
    views: {
      directory: logs,
      archive: fileIn(logs, 'archive'),
      agents: fileIn(logs, 'agents')
    },
    shared: {
      directory: shared,
      agents: fileIn(shared, 'agents'),
      run: fileIn(shared, 'run'),
      worktrees: fileIn(shared, 'worktrees'),
      council: fileIn(shared, 'council')
    }
  };
}

/**
 * Joins a normalized directory and a file name. `join` would normalize again,
 * which is slow for servers that poll hundreds of agents.
 */
export function fileIn(directory: string, name: string): string {
  return directory + sep + name;
}

/** Replaces characters that are unsafe in a file name with dashes. */
export function asFileName(name: string): string {
  return name.replace(/-?[^\w.-]+/g, '-');
}

const nameChars = 40;

/** `my-project-1f3a9c2b4d5e`: the name is for people, the hash is unique. */
function recordName(workspace: string): string {
  const name = asFileName(basename(workspace)).slice(0, nameChars);
  return `${name}-${hashOf(workspace)}`;
}

/**
 * A 53-bit hash of a path as 14 hex digits, mixed as in MurmurHash3. Loading
 * node:crypto would slow down each start and cost 1 to 2 MB. A deliberate
 * collision is harmless: a record names its workspace, and no other may use it.
 */
function hashOf(path: string): string {
  let low = 0xdeadbeef;
  let high = 0x41c6ce57;
  for (const byte of Buffer.from(path)) {
    low = Math.imul(low ^ byte, 0x85ebca6b);
    high = Math.imul(high ^ byte, 0xc2b2ae35);
    low = (low << 13) | (low >>> 19);
    high = (high << 15) | (high >>> 17);
  }
  low = mixed(low ^ (high >>> 13));
  high = mixed(high ^ (low >>> 16));
  const bits = 0x1_0000_0000 * (high & 0x1f_ffff) + (low >>> 0);
  return bits.toString(16).padStart(14, '0');
}

function mixed(bits: number): number {
  const once = Math.imul(bits ^ (bits >>> 16), 0x85ebca6b);
  const twice = Math.imul(once ^ (once >>> 13), 0xc2b2ae35);
  return twice ^ (twice >>> 16);
}
