#!/usr/bin/env node
// Writes a picture of every screen of `troupe web`, light and dark, wide and
// narrow, into a folder: node scripts/page-screens.mjs FOLDER
// Those of the documentation: node scripts/page-screens.mjs --docs
import { spawnSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';

const root = join(import.meta.dirname, '..');
const [asked = join(root, '.cache', 'screens')] = process.argv.slice(2);
const isForDocs = asked === '--docs';
const folder = isForDocs ? join(root, 'docs/media/page') : resolve(asked);
mkdirSync(folder, { recursive: true });
const { status } = spawnSync(
  process.execPath,
  [
    join(root, 'node_modules', 'vitest', 'vitest.mjs'),
    ...[
      'run',
      '--project',
      'e2e*',
      'test/e2e/web/page-screens',
      ...(isForDocs
        ? []
        : ['test/e2e/web/page-actions', 'test/e2e/web/page-files'])
    ]
  ],
  {
    cwd: root,
    env: {
      ...process.env,
      TROUPE_SCREENS: folder,
      TROUPE_SCREENS_OF: isForDocs ? 'docs' : 'all'
    },
    stdio: 'inherit'
  }
);
process.exitCode = status ?? 1;
