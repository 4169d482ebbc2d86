import { closeSync, fstatSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { storageError } from '../core/errors.ts';
import { lazy } from '../core/lazy.ts';
import {
  remove,
  replaceFile,
  trySyncDirectory
} from '../core/state/files/atomic-file.ts';
import { ensureDirectory, namesIn } from '../core/state/files/directories.ts';
import { openRegular, ownReadFlags } from '../core/state/files/regular-file.ts';
import { type Digests, digestOf } from '../core/state/integrity/digests.ts';

/** The files of one workspace that the user trusts. */
export interface Grant {
  workspace: string;
  grantedAt: string;
  /** File → the digest of the content that the user saw. */
  files: Digests;
}

const grantSchema = lazy(() =>
  z.object({
    v: z.literal(1),
    workspace: z.string(),
    granted_at: z.string(),
    files: z.record(z.string(), z.string())
  })
);

/**
 * The grants of the user: one file per workspace in the user's own directory,
 * so that writers for different workspaces never conflict.
 */
export class Grants {
  /** Changes its time of change with each grant. */
  readonly directory: string;

  /** @param home the user's own directory, `~/.troupe` */
  constructor(home: string) {
    this.directory = join(home, 'trust');
  }

  /** @param workspace its real path; a moved workspace is not trusted */
  of(workspace: string): Grant | undefined {
    const grant = this.#read(this.#nameOf(workspace));
    return grant?.workspace === workspace ? grant : undefined;
  }

  /** Sorted by workspace. */
  all(): Grant[] {
    return namesIn(this.directory)
      .filter((name) => /^[0-9a-f]{64}\.json$/.test(name))
      .flatMap((name) => this.#read(name) ?? [])
      .sort((a, b) => (a.workspace < b.workspace ? -1 : 1));
  }

  /**
   * Adds files to the trusted ones. Other files of the workspace stay trusted,
   * because another `--config` may name them.
   * @throws HostError `storage_unwritable`, `storage_full`, `state_unsafe`
   */
  add(workspace: string, files: Digests): void {
    const path = this.#pathOf(workspace);
    const grant = {
      v: 1,
      workspace,
      granted_at: new Date().toISOString(),
      files: { ...this.of(workspace)?.files, ...files }
    };
    write(path, () => {
      ensureDirectory(this.directory);
      replaceFile(path, `${JSON.stringify(grant, null, 2)}\n`, true);
    });
  }

  /** Returns false if there was no grant. */
  revoke(workspace: string): boolean {
    const path = this.#pathOf(workspace);
    const isThere = this.of(workspace) !== undefined;
    write(path, () => remove(path));
    // A power failure must not restore the grant.
    trySyncDirectory(this.directory);
    return isThere;
  }

  #pathOf(workspace: string): string {
    return join(this.directory, this.#nameOf(workspace));
  }

  #nameOf(workspace: string): string {
    return `${digestOf(workspace)}.json`;
  }

  #read(name: string): Grant | undefined {
    try {
      const text = ownText(join(this.directory, name));
      const { data } = grantSchema().safeParse(JSON.parse(text));
      if (!data) return undefined;
      const { workspace, granted_at: grantedAt, files } = data;
      return { workspace, grantedAt, files };
    } catch {
      // Without a valid file that the user owns, nothing is trusted.
      return undefined;
    }
  }
}

function write(path: string, work: () => void): void {
  try {
    work();
  } catch (error) {
    throw storageError(error, path, {
      full: 'Free some space and call again; nothing was granted.',
      unwritable:
        'Check owner and permissions of the directory, or set TROUPE_HOME to another one.'
    });
  }
}

/** @throws Error for a link, or if another user owns or may write the file */
function ownText(path: string): string {
  const descriptor = openRegular(path, ownReadFlags);
  try {
    const stats = fstatSync(descriptor);
    const isOurs =
      process.platform === 'win32' ||
      (stats.uid === process.getuid?.() && (stats.mode & 0o022) === 0);
    if (stats.nlink !== 1 || !isOurs) throw new Error(`${path} is not ours`);
    return readFileSync(descriptor, 'utf8');
  } finally {
    closeSync(descriptor);
  }
}
