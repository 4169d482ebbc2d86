import {
  lstatSync,
  mkdtempSync,
  rmdirSync,
  type Stats,
  statSync
} from 'node:fs';
import { dirname, join } from 'node:path';
import { lookAt } from './directories.ts';
import { leadsElsewhere, unsafe } from './unsafe.ts';

/** Folders of ours in `.agents`, each once something was put there. */
export const stateFolders = [
  'agents',
  'council',
  'counts',
  'diffs',
  'drafts',
  'heads',
  'http',
  'open',
  'rotation',
  'run',
  'sessions',
  'spawns',
  'squads',
  'summons',
  'trash',
  'workers',
  'worktrees'
];

/** Where state of ours lies. Nothing of it need be there. */
export interface StatePlaces {
  /** Those below others come after them. */
  directories: string[];
  /** Those that are added to where they lie. */
  files: string[];
  /** Who owns this may own the rest, when we are root. */
  workspace: string;
}

/** What is ours in a workspace. */
export function workspacePlaces(workspace: string): StatePlaces {
  const state = join(workspace, '.agents');
  const logs = join(workspace, 'logs');
  return {
    directories: [
      state,
      ...stateFolders.map((name) => join(state, name)),
      logs,
      join(logs, 'archive')
    ],
    files: [
      ...['sizes', 'spawn-times'].map((name) => join(state, 'counts', name)),
      join(logs, 'iac.jsonl')
    ],
    workspace
  };
}

/** What is ours around the file of a council. */
export function councilPlaces(path: string, workspace: string): StatePlaces {
  const folder = dirname(path);
  const parts = ['history', 'texts'].map((name) => join(folder, name));
  const directories = [folder, ...parts, `${path}.servers`];
  return { directories, files: [], workspace };
}

/** Who we are, and what a file system tells of what we make ourselves. */
export interface Surveyor {
  /** Undefined where files have no owners. */
  uid: number | undefined;
  /** Facts of a directory that was just made in another. */
  probe: (parent: string) => Stats | undefined;
}

/**
 * Throws unless state of ours is where nobody else can have put it, or can
 * change it: a project that came from elsewhere may hold a link in its place.
 * Real directories, owned by us and not writable by everybody; a group may
 * write, as the usual umask of some systems lets it. Root may also use what
 * belongs to the workspace's owner: so it is in a container that has a
 * project of the host.
 *
 * It looks every time, which costs microseconds. Between the look and the use
 * there is a moment; who can make use of it runs as the user already.
 * @throws HostError `state_unsafe` that names the first such place
 */
export function checkState(
  { directories, files, workspace }: StatePlaces,
  surveyor: Surveyor = ourselves
): void {
  const { uid } = surveyor;
  if (uid === undefined) return;
  for (const path of directories) checkDirectory(path, workspace, surveyor);
  for (const path of files) {
    const there = lookAt(path);
    if (there?.isSymbolicLink()) throw leadsElsewhere(path);
    // A directory holds nobody up: who wants to write is told.
    if (there && !there.isFile() && !there.isDirectory())
      throw unsafe(path, 'is no regular file', 'Move it away and call again.');
  }
}

function checkDirectory(
  path: string,
  workspace: string,
  { uid, probe }: Surveyor
): void {
  const there = lookAt(path);
  if (there?.isSymbolicLink()) throw leadsElsewhere(path);
  // A file in its place leads nowhere: who wants to write is told.
  if (!there?.isDirectory()) return;
  const isOurs =
    there.uid === uid || (uid === 0 && there.uid === statSync(workspace).uid);
  const isOpen = (there.mode & 0o002) !== 0;
  if (isOurs && !isOpen) return;
  // Some file systems have one owner and one mode for all there is.
  const fresh = probe(dirname(path));
  if (fresh?.uid === there.uid && (!isOpen || (fresh.mode & 0o002) !== 0))
    return;
  if (!isOurs)
    throw unsafe(
      path,
      `belongs to another user (uid ${there.uid}, and we are ${uid})`,
      'Look what is in it, then move it away or give it to your account (chown -R), and call again.'
    );
  throw unsafe(
    path,
    'can be changed by everybody on this machine',
    `Look what is in it, take that right away (chmod o-w ${path}), and call again.`
  );
}

/** By the number of their file system, whose nature it is. */
const probed = new Map<number, Stats>();

const ourselves: Surveyor = {
  uid: process.geteuid?.(),
  probe: (parent) => {
    try {
      const { dev } = statSync(parent);
      const known = probed.get(dev);
      if (known) return known;
      const path = mkdtempSync(join(parent, '.troupe-probe-'));
      try {
        const made = lstatSync(path);
        probed.set(dev, made);
        return made;
      } finally {
        rmdirSync(path);
      }
    } catch {
      return undefined;
    }
  }
};
