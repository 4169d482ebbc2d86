#!/usr/bin/env node
/**
 * Writes the files that clients and registries read to install troupe, from
 * package.json and prompts/.
 *
 *     --check   write nothing; fail when a file is stale
 */
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync
} from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { packageFiles } from './packages/package-files.mjs';

const root = join(import.meta.dirname, '..');

/** Folders that contain only these files and a README.md. */
const folders = ['.claude-plugin', 'integrations'];

if (process.argv.includes('--check')) check(packageFiles(root));
else write(packageFiles(root));

function write(files) {
  for (const path of strays(files)) rmSync(join(root, path));
  for (const [path, text] of files) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
}

function check(files) {
  const stale = [...files]
    .filter(([path, text]) => readIfExists(path) !== text)
    .map(([path]) => path);
  const wrong = [...stale, ...strays(files)];
  if (wrong.length === 0) return;
  console.error(
    `Not current: ${wrong.join(', ')}. Run: node scripts/packages.mjs`
  );
  process.exitCode = 1;
}

function readIfExists(path) {
  const file = join(root, path);
  return existsSync(file) ? readFileSync(file, 'utf8') : undefined;
}

/** Files that remain from a prompt that was removed. */
function strays(files) {
  return folders
    .map((folder) => join(root, folder))
    .filter((folder) => existsSync(folder))
    .flatMap((folder) =>
      readdirSync(folder, { recursive: true, withFileTypes: true })
    )
    .filter((entry) => entry.isFile() && entry.name !== 'README.md')
    .map((entry) => relative(root, join(entry.parentPath, entry.name)))
    .filter((path) => !files.has(path));
}
