import {
  lstatSync,
  mkdtempSync,
  rmdirSync,
  type Stats,
  statSync
} from 'node:fs';
import { dirname, join } from 'node:path';
import { HostError } from '../../errors.ts';
import { fileIn, type Paths } from '../../paths/paths.ts';
import { lstatIfExists } from '../files/directories.ts';
import {
  hardLinkError,
  notRegularError,
  symbolicLinkError,
  unsafePathError
} from '../files/own-file.ts';

/** Checks whether the state of a workspace and its council is safe to use. */
export class StateIntegrity {
  readonly #workspace: StatePaths;
  readonly #council: StatePaths;
  readonly #onProblem: (problem: unknown) => void;
  #reported = '';

  /** @param onProblem called when the problem differs from the last one */
  constructor(
    paths: Paths,
    councilFile: string,
    onProblem: (problem: unknown) => void
  ) {
    this.#workspace = statePathsOf(paths);
    this.#council = councilPaths(councilFile, paths.workspace);
    this.#onProblem = onProblem;
  }

  /**
   * Call this before state is read or written for a caller.
   * @throws HostError `state_unsafe`
   */
  check(withCouncil = false): void {
    checkState(this.#workspace);
    if (withCouncil) checkState(this.#council);
  }

  /** Like `check`, but reports the problem and returns false. */
  holds(withCouncil = false): boolean {
    try {
      this.check(withCouncil);
      return true;
    } catch (problem) {
      if (!(problem instanceof HostError)) throw problem;
      const text = `${problem.message} ${problem.hint}`;
      if (text !== this.#reported) this.#onProblem(text);
      this.#reported = text;
      return false;
    }
  }
}

/** Folders in the record, each created at first use. */
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

/** The paths of state to check. They need not exist. */
interface StatePaths {
  /** Parents precede their children. */
  directories: string[];
  /** Files that troupe appends to or overwrites in place. */
  files: string[];
  /** If this process is root, the owner of this path may own the others. */
  workspace: string;
  /** A folder that several users may share, and the state files in it. */
  around?: { folder: string; files: string[] };
}

/** The paths of a workspace's record and of its folders in the workspace. */
export function statePathsOf(paths: Paths): StatePaths {
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

/** The paths of a council's file and of the files and folders next to it. */
export function councilPaths(path: string, workspace: string): StatePaths {
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

/** The user of this process, and the owner and mode of its new directories. */
export interface OwnershipProbe {
  /** Undefined on platforms where files have no owner. */
  uid: number | undefined;
  /** The stats of a directory that was just created in a parent. */
  probe: (parent: string) => Stats | undefined;
}

/**
 * Refuses state that another user may have prepared or can change, and links,
 * which a cloned project may contain. Directories must be real, owned by this
 * user and not world-writable. They may be group-writable, because the default
 * umask of some systems allows it. Root may also use directories of the
 * workspace's owner, as in a container with a mounted project. The folder of a
 * council's file may be sticky and world-writable like /tmp; then the state
 * files in it must be regular files of this user.
 *
 * Each call checks again, which takes microseconds. A race between check and
 * use is no risk: only a process of this user could win it.
 * @throws HostError `state_unsafe` that names the first unsafe path
 */
export function checkState(
  { directories, files, workspace, around }: StatePaths,
  ownership: OwnershipProbe = processOwnership
): void {
  const { uid } = ownership;
  if (uid === undefined) return;
  const isOurs = (stats: Stats) =>
    stats.uid === uid || (uid === 0 && stats.uid === statSync(workspace).uid);
  const hints = around ? councilHints : ownHints;
  if (around && isShared(around.folder, isOurs))
    for (const path of around.files) checkShared(path, isOurs);
  else if (around) checkDirectory(around.folder, isOurs, ownership, hints);
  for (const path of directories)
    checkDirectory(path, isOurs, ownership, hints);
  for (const path of files) {
    const stats = lstatIfExists(path);
    if (stats?.isSymbolicLink()) throw symbolicLinkError(path);
    // A directory is accepted here: a write to it fails without blocking.
    if (stats && !stats.isFile() && !stats.isDirectory())
      throw notRegularError(path);
    if (stats?.isFile() && stats.nlink > 1) throw hardLinkError(path);
  }
}

/** Whether a folder is sticky, like /tmp, and owned by root or this user. */
function isShared(folder: string, isOurs: (stats: Stats) => boolean): boolean {
  const stats = lstatIfExists(folder);
  if (!stats?.isDirectory() || (stats.mode & 0o1000) === 0) return false;
  return stats.uid === 0 || isOurs(stats);
}

/** Checks a state file in a sticky folder, where any user may create files. */
function checkShared(path: string, isOurs: (stats: Stats) => boolean): void {
  const stats = lstatIfExists(path);
  if (stats?.isSymbolicLink()) throw symbolicLinkError(path);
  if (!stats || (stats.isFile() && isOurs(stats))) return;
  throw stats.isFile()
    ? unsafePathError(
        path,
        `belongs to another user (uid ${stats.uid})`,
        elsewhere
      )
    : unsafePathError(path, 'is not a regular file', elsewhere);
}

const elsewhere =
  'Keep the council in a folder of your own: name its file with council.statePath or AGENTS_COUNCIL_STATE_PATH, and call again.';

/** Hints for a directory of another user, and for a world-writable one. */
interface Hints {
  foreign: string;
  open: (path: string) => string;
}

const ownHints: Hints = {
  foreign:
    'Check what is in it, then move it away or give it to your account (chown -R), and call again.',
  open: (path) =>
    `Check what is in it, remove that permission (chmod o-w ${path}), and call again.`
};

/** The folder may have other uses, so the first hint is to move the council. */
const councilHints: Hints = {
  foreign: elsewhere,
  open: (path) =>
    `${elsewhere} If this one is for the council alone, check what is in it, and remove that permission (chmod o-w ${path}).`
};

function checkDirectory(
  path: string,
  isOurs: (stats: Stats) => boolean,
  { uid, probe }: OwnershipProbe,
  hints: Hints
): void {
  const stats = lstatIfExists(path);
  if (stats?.isSymbolicLink()) throw symbolicLinkError(path);
  // A file at this path is accepted here: a write below it fails.
  if (!stats?.isDirectory()) return;
  const isOpen = (stats.mode & 0o002) !== 0;
  if (isOurs(stats) && !isOpen) return;
  // Some file systems report one owner and one mode for all files.
  const fresh = probe(dirname(path));
  if (fresh?.uid === stats.uid && (!isOpen || (fresh.mode & 0o002) !== 0))
    return;
  if (!isOurs(stats))
    throw unsafePathError(
      path,
      `belongs to another user (uid ${stats.uid}, and we are ${uid})`,
      hints.foreign
    );
  throw unsafePathError(
    path,
    'can be changed by every user of this machine',
    hints.open(path)
  );
}

/** The stats of a new directory by device: they depend on the file system. */
const probed = new Map<number, Stats>();

const processOwnership: OwnershipProbe = {
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
