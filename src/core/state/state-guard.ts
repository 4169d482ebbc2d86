import {
  lstatSync,
  mkdtempSync,
  rmdirSync,
  type Stats,
  statSync
} from 'node:fs';
import { dirname, join } from 'node:path';
import type { Paths } from '../paths/paths.ts';
import { lookAt } from './directories.ts';
import { fileIn } from './file-in.ts';
import { hasOtherNames, isNoFile, leadsElsewhere, unsafe } from './unsafe.ts';

/** Folders in the record, each once something was put there. */
export const recordFolders = [
  'counts',
  'diffs',
  'drafts',
  'heads',
  'http',
  'journal',
  'open',
  'rotation',
  'servers',
  'sessions',
  'spawns',
  'squads',
  'summons',
  'trash',
  'workers'
];

/** Where state of ours lies. Nothing of it need be there. */
export interface StatePlaces {
  /** Those below others come after them. */
  directories: string[];
  /** Those that are added to where they lie. */
  files: string[];
  /** Who owns this may own the rest, when we are root. */
  workspace: string;
  /** A folder that others may share, and what they must not have put there. */
  around?: { folder: string; files: string[] };
}

/** The record of a workspace, and what lies in the workspace itself. */
export function workspacePlaces(paths: Paths): StatePlaces {
  const { home, record, journal, shared, views, workspace } = paths;
  return {
    directories: [
      home,
      dirname(record),
      record,
      ...recordFolders.map((name) => fileIn(record, name)),
      ...Object.values(shared),
      ...Object.values(views)
    ],
    files: [
      ...['sizes', 'spawn-times'].map((name) =>
        fileIn(fileIn(record, 'counts'), name)
      ),
      journal
    ],
    workspace
  };
}

/** What is ours around the file of a council. */
export function councilPlaces(path: string, workspace: string): StatePlaces {
  const folder = dirname(path);
  const parts = ['history', 'texts'].map((name) => join(folder, name));
  const endings = ['', '.lock', '.v1.bak', '.v2.bak'];
  return {
    directories: [...parts, `${path}.servers`],
    files: [],
    workspace,
    around: { folder, files: endings.map((ending) => `${path}${ending}`) }
  };
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
 * project of the host. The folder around a council's file may be one like
 * /tmp, where everybody may add something and only its owner takes it away:
 * then what is there by a name of ours has to be ours as well.
 *
 * It looks every time, which costs microseconds. Between the look and the use
 * there is a moment; who can make use of it runs as the user already.
 * @throws HostError `state_unsafe` that names the first such place
 */
export function checkState(
  { directories, files, workspace, around }: StatePlaces,
  surveyor: Surveyor = ourselves
): void {
  const { uid } = surveyor;
  if (uid === undefined) return;
  const isOurs = (there: Stats) =>
    there.uid === uid || (uid === 0 && there.uid === statSync(workspace).uid);
  const hints = around ? councilHints : ownHints;
  if (around && isShared(around.folder, isOurs))
    for (const path of around.files) checkShared(path, isOurs);
  else if (around) checkDirectory(around.folder, isOurs, surveyor, hints);
  for (const path of directories) checkDirectory(path, isOurs, surveyor, hints);
  for (const path of files) {
    const there = lookAt(path);
    if (there?.isSymbolicLink()) throw leadsElsewhere(path);
    // A directory holds nobody up: who wants to write is told.
    if (there && !there.isFile() && !there.isDirectory()) throw isNoFile(path);
    if (there?.isFile() && there.nlink > 1) throw hasOtherNames(path);
  }
}

/** Others may write there, and cannot touch what is not theirs. */
function isShared(folder: string, isOurs: (there: Stats) => boolean): boolean {
  const there = lookAt(folder);
  if (!there?.isDirectory() || (there.mode & 0o1000) === 0) return false;
  return there.uid === 0 || isOurs(there);
}

/** What is ours in a folder where anybody may have put it. */
function checkShared(path: string, isOurs: (there: Stats) => boolean): void {
  const there = lookAt(path);
  if (there?.isSymbolicLink()) throw leadsElsewhere(path);
  if (!there || (there.isFile() && isOurs(there))) return;
  throw there.isFile()
    ? unsafe(path, `belongs to another user (uid ${there.uid})`, elsewhere)
    : unsafe(path, 'is no regular file', elsewhere);
}

const elsewhere =
  'Keep the council in a folder of your own: name its file with council.statePath or AGENTS_COUNCIL_STATE_PATH, and call again.';

/** What to do about a directory, if it is another one's or open to all. */
interface Hints {
  foreign: string;
  open: (path: string) => string;
}

const ownHints: Hints = {
  foreign:
    'Look what is in it, then move it away or give it to your account (chown -R), and call again.',
  open: (path) =>
    `Look what is in it, take that right away (chmod o-w ${path}), and call again.`
};

/** The folder may serve others as well, who need it as it is. */
const councilHints: Hints = {
  foreign: elsewhere,
  open: (path) =>
    `${elsewhere} If this one is for the council alone, look what is in it, and take that right away (chmod o-w ${path}).`
};

function checkDirectory(
  path: string,
  isOurs: (there: Stats) => boolean,
  { uid, probe }: Surveyor,
  hints: Hints
): void {
  const there = lookAt(path);
  if (there?.isSymbolicLink()) throw leadsElsewhere(path);
  // A file in its place leads nowhere: who wants to write is told.
  if (!there?.isDirectory()) return;
  const isOpen = (there.mode & 0o002) !== 0;
  if (isOurs(there) && !isOpen) return;
  // Some file systems have one owner and one mode for all there is.
  const fresh = probe(dirname(path));
  if (fresh?.uid === there.uid && (!isOpen || (fresh.mode & 0o002) !== 0))
    return;
  if (!isOurs(there))
    throw unsafe(
      path,
      `belongs to another user (uid ${there.uid}, and we are ${uid})`,
      hints.foreign
    );
  throw unsafe(
    path,
    'can be changed by everybody on this machine',
    hints.open(path)
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
