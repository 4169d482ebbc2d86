import { createHash } from 'node:crypto';
import { basename, join } from 'node:path';
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
  const record = join(home, 'workspaces', recordName(workspace));
  const logs = join(workspace, 'logs');
  const shared = join(workspace, '.agents');
  return {
    workspace,
    home,
    record,
    identity: join(record, 'workspace.json'),
    journal: join(record, 'iac.jsonl'),
    segments: join(record, 'journal'),
    heads: join(record, 'heads'),
    rotationLock: join(record, 'rotation', 'lock'),
    servers: join(record, 'servers'),
    token: join(record, 'http', 'token'),
    views: {
      directory: logs,
      archive: join(logs, 'archive'),
      agents: join(logs, 'agents')
    },
    shared: {
      directory: shared,
      agents: join(shared, 'agents'),
      run: join(shared, 'run'),
      worktrees: join(shared, 'worktrees'),
      council: join(shared, 'council')
    }
  };
}

const nameChars = 40;

/** `my-project-1f3a9c2b4d5e`: the name is for people, the hash decides. */
function recordName(workspace: string): string {
  const name = basename(workspace)
    .replace(/[^\w.-]+/g, '-')
    .replace(/^[.-]+/, '')
    .slice(0, nameChars);
  const hash = createHash('sha256').update(workspace).digest('hex');
  return `${name || 'workspace'}-${hash.slice(0, 12)}`;
}
