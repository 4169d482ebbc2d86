import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  writeFileSync
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Paths, pathsOf } from '../../../src/core/paths/paths.ts';

export interface TempWorkspace {
  /** The workspace root. */
  path: string;
  /** An empty HOME, outside the workspace. */
  home: string;
  /** A folder for stand-in programs, to be put first on PATH. */
  bin: string;
  /** Where its record is, in that HOME, once there is one. */
  record: string;
  /** All that troupe keeps for it. */
  paths: Paths;
  /** Writes a file below the root. */
  write: (name: string, text: string) => string;
  /** Writes a file into the record. */
  writeRecord: (name: string, text: string) => string;
  /** Puts a Node program named like a CLI into `bin`. */
  program: (name: string, body: string) => string;
  remove: () => void;
}

/** The first line of a Node program; a plain one splits a path at a blank. */
export const nodeShebang = process.execPath.includes(' ')
  ? `#!/usr/bin/env -S "${process.execPath}"`
  : `#!${process.execPath}`;

/** A real directory tree for one test. */
export function createTempWorkspace(parent = tmpdir()): TempWorkspace {
  const base = realpathSync(mkdtempSync(join(parent, 'troupe-test-')));
  const path = join(base, 'workspace');
  const home = join(base, 'home');
  const bin = join(base, 'bin');
  for (const directory of [path, home, bin]) mkdirSync(directory);
  const paths = pathsOf(path, join(home, '.troupe'));
  const { record } = paths;
  const writeBelow = (root: string) => (name: string, text: string) => {
    const file = join(root, name);
    mkdirSync(join(file, '..'), { recursive: true });
    writeFileSync(file, text);
    return file;
  };
  return {
    path,
    home,
    bin,
    record,
    paths,
    write: writeBelow(path),
    writeRecord: writeBelow(record),
    program: (name, body) => {
      const file = join(bin, name);
      writeFileSync(file, `${nodeShebang}\n${body}\n`);
      chmodSync(file, 0o755);
      return file;
    },
    remove: () => removeTree(base)
  };
}

/** An agent that is ending may still put files where we take them away. */
function removeTree(path: string): void {
  for (let tries = 1; ; tries += 1)
    try {
      rmSync(path, { recursive: true, force: true, maxRetries: 5 });
      return;
    } catch (error) {
      if (tries === 10) throw error;
    }
}
