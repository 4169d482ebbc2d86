import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  writeFileSync
} from 'node:fs';
import { dirname, join } from 'node:path';
import { author, gitIn } from './git-workspace.ts';
import { createTempWorkspace, type TempWorkspace } from './temp-workspace.ts';

/** A workspace that is a clone of a foreign repository. */
export interface ClonedWorkspace extends TempWorkspace {
  /** What of the clone has run, by the names that it gave. */
  ran: () => string[];
}

/** Nothing is trusted beforehand. */
export const untrusted = { TROUPE_TRUST: '' };

/** Code that shows that it ran, in each form that a clone may bring. */
export interface Marks {
  script: (name: string) => string;
  module: (name: string) => string;
  commonJs: (name: string) => string;
}

/** @param files of the repository, by path; files in .sh are executable */
export function cloneOf(
  files: (marks: Marks) => Record<string, string>
): ClonedWorkspace {
  const workspace = createTempWorkspace();
  const marker = join(workspace.home, '..', 'ran');
  const origin = join(workspace.home, '..', 'origin');
  const marked = JSON.stringify(marker);
  const marks: Marks = {
    script: (name) => `#!/bin/sh\necho ${name} >> '${marker}'\n`,
    module: (name) =>
      `import { appendFileSync } from 'node:fs';\nappendFileSync(${marked}, '${name}\\n');\n`,
    commonJs: (name) =>
      `require('node:fs').appendFileSync(${marked}, '${name}\\n');\n`
  };
  for (const [name, text] of Object.entries(files(marks))) {
    const file = join(origin, name);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
    if (name.endsWith('.sh')) chmodSync(file, 0o755);
  }
  gitIn(origin, 'init', '--quiet');
  gitIn(origin, 'add', '--all', '--force');
  gitIn(origin, ...author.split(' '), 'commit', '--quiet', '-m', 'first');
  gitIn(workspace.path, 'clone', '--quiet', origin, '.');
  return {
    ...workspace,
    ran: () =>
      existsSync(marker)
        ? readFileSync(marker, 'utf8').trimEnd().split('\n')
        : []
  };
}

/** An engine that answers `pong`, and what runs when it is loaded. */
export function pongPlugin(code = ''): string {
  return `${code}export default {
  kind: 'cli', name: 'pong', description: 'Says pong.', command: 'echo',
  args: () => ['pong']
};
`;
}
