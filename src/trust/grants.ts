import { closeSync, fstatSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { storageError } from '../core/errors.ts';
import { remove, replaceFile } from '../core/state/atomic-file.ts';
import { type Digests, digestOf } from '../core/state/digests.ts';
import { ensureDirectory, namesIn } from '../core/state/directories.ts';
import { openRegular, ownReadFlags } from '../core/state/regular-file.ts';

/** What a user trusts in one workspace. */
export interface Grant {
  workspace: string;
  grantedAt: string;
  /** The content that was shown, by file. */
  files: Digests;
}

/** Built when there is a file to read: at a start it would cost memory. */
const grantSchema = () =>
  z.object({
    v: z.literal(1),
    workspace: z.string(),
    granted_at: z.string(),
    files: z.record(z.string(), z.string())
  });

/**
 * What the user trusts, one file a workspace in the user's own directory, so
 * that writers of several workspaces never meet.
 */
export class Grants {
  readonly #directory: string;

  /** @param home the user's own directory, `~/.troupe` */
  constructor(home: string) {
    this.#directory = join(home, 'trust');
  }

  /** @param workspace its real path: one that was moved is another one */
  of(workspace: string): Grant | undefined {
    const grant = this.#read(this.#nameOf(workspace));
    return grant?.workspace === workspace ? grant : undefined;
  }

  /** By workspace. */
  all(): Grant[] {
    return namesIn(this.#directory)
      .filter((name) => /^[0-9a-f]{64}\.json$/.test(name))
      .flatMap((name) => this.#read(name) ?? [])
      .sort((a, b) => (a.workspace < b.workspace ? -1 : 1));
  }

  /**
   * Adds to what is trusted. What was trusted before in other files of the
   * workspace stays so: another `--config` may name them.
   * @throws HostError `storage_unwritable`, `storage_full`, `state_unsafe`
   */
  add(workspace: string, files: Digests): void {
    const path = join(this.#directory, this.#nameOf(workspace));
    const grant = {
      v: 1,
      workspace,
      granted_at: new Date().toISOString(),
      files: { ...this.of(workspace)?.files, ...files }
    };
    try {
      ensureDirectory(this.#directory);
      replaceFile(path, `${JSON.stringify(grant, null, 2)}\n`, true);
    } catch (error) {
      throw storageError(error, path, storageHints);
    }
  }

  /** False when there was nothing to take back. */
  revoke(workspace: string): boolean {
    const path = join(this.#directory, this.#nameOf(workspace));
    const isThere = this.of(workspace) !== undefined;
    try {
      remove(path);
    } catch (error) {
      throw storageError(error, path, storageHints);
    }
    return isThere;
  }

  #nameOf(workspace: string): string {
    return `${digestOf(workspace)}.json`;
  }

  #read(name: string): Grant | undefined {
    try {
      const text = ownText(join(this.#directory, name));
      const { data } = grantSchema().safeParse(JSON.parse(text));
      if (!data) return undefined;
      const { workspace, granted_at: grantedAt, files } = data;
      return { workspace, grantedAt, files };
    } catch {
      // No file, or none of ours: nothing is trusted.
      return undefined;
    }
  }
}

const storageHints = {
  full: 'Free some space and call again; nothing was granted.',
  unwritable:
    'Check owner and permissions of the directory, or set TROUPE_HOME to another one.'
};

/** @throws Error for a link, and for a file that others own or may write */
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
