#!/usr/bin/env node
// Writes a picture of every screen of `troupe web`, light and dark, wide and
// narrow, into a folder: node scripts/page-screens.mjs FOLDER
import { spawnSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';

const root = join(import.meta.dirname, '..');
const folder = resolve(process.argv[2] ?? join(root, '.cache', 'screens'));
mkdirSync(folder, { recursive: true });
const { status } = spawnSync(
  process.execPath,
  [
    join(root, 'node_modules', 'vitest', 'vitest.mjs'),
    ...['run', '--project', 'e2e*', 'test/e2e/web/page-screens']
  ],
  {
    cwd: root,
    env: { ...process.env, TROUPE_SCREENS: folder },
    stdio: 'inherit'
  }
);
process.exitCode = status ?? 1;
