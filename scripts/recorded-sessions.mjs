/**
 * The sessions that scripts/record-session.mjs records: the directory and the
 * input. `keys` are pressed when the terminal shows a match of `when`; without
 * `when`, immediately after the step before.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** A project of a user of Claude Code. */
function makeProject(stage) {
  const project = join(stage, 'project');
  mkdirSync(join(project, '.claude'), { recursive: true });
  writeFileSync(join(project, 'README.md'), '# slug\n\nMakes slugs.\n');
  writeFileSync(join(project, 'slug.js'), "// 'A b' becomes 'a-b'\n");
  return project;
}

export const sessions = [
  {
    name: 'demo',
    title: 'npm run demo',
    size: { columns: 88, rows: 26 },
    directory: ({ root }) => root,
    steps: [{ type: 'npm run demo' }]
  },
  {
    name: 'init',
    title: 'troupe init',
    size: { columns: 96, rows: 30 },
    directory: ({ stage }) => makeProject(stage),
    steps: [
      { type: 'troupe init' },
      { when: /For which projects.*\n(.*\n)+.*confirm/, keys: ['Enter'] },
      { when: /Which clients.*\n(.*\n)+.*confirm/, keys: ['Enter'] },
      { when: /What may agents do.*\n(.*\n)+.*confirm/, keys: ['Enter'] },
      { when: /What else may.*\n(.*\n)+.*confirm/, keys: ['Enter'] },
      { when: /Write these .*\n.*Yes/, keys: ['Enter'] },
      { when: /Try it now\?.*\n(.*\n)+.*confirm/, keys: ['Enter'] }
    ]
  }
];
