import { basename } from 'node:path';
import { fileIn } from '../state/file-in.ts';
import { asFileName } from './file-name.ts';
import { troupeHome } from './troupe-home.ts';

/** Every place where troupe keeps something for a workspace. */
export interface Paths {
  /** The real path of the workspace. */
  workspace: string;
  /** The user's own directory, `~/.troupe`. */
  home: string;
  /** `<home>/workspaces/<name>-<hash>`: the record of this workspace. */
  record: string;
  /** Who the record belongs to: its id and the workspace's path. */
  identity: string;
  /** The append-only journal; its segments lie in `segments`. */
  journal: string;
  segments: string;
  heads: string;
  rotationLock: string;
  /** Servers that live here, a file each. */
  servers: string;
  /** The bearer token of the server over HTTP. */
  token: string;
  views: ViewPaths;
  /** What a seed or git wants in the workspace. */
  shared: SharedPaths;
}

/** Files made from the record, which anybody may delete at any time. */
export interface ViewPaths {
  directory: string;
  archive: string;
  /** `<agent_id>.md`, the page of one agent. */
  agents: string;
}

export interface SharedPaths {
  directory: string;
  /** Workers: meta, inbox, outbox and artifacts. */
  agents: string;
  /** Broadcasts of the runs of workers. */
  run: string;
  worktrees: string;
  council: string;
}

/** @param workspace its real path, which names the record */
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

const nameChars = 40;

/** `my-project-1f3a9c2b4d5e`: the name is for people, the hash decides. */
function recordName(workspace: string): string {
  const name = asFileName(basename(workspace)).slice(0, nameChars);
  return `${name}-${hashOf(workspace)}`;
}

/**
 * 53 bits of a path as 14 hex digits, mixed as MurmurHash3 does it. Loading
 * node:crypto would cost each start time and 1 to 2 MB. A path that was made to
 * collide gains nothing: a record names its workspace, and serves no other.
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
