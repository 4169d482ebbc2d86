/** The agents of load.mjs. */
import { execFileSync } from 'node:child_process';
import { closeSync, openSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

/** So long all are at work at once, before the first of them ends. */
const togetherMs = 3000;

/**
 * A program that gives its prompt back. Where all are at work at once, none
 * ends before somebody writes to a pipe; then they do within a second.
 */
export function furnish(workspace, { agents, places }) {
  const pipe = join(workspace.base, 'pipe');
  if (places >= agents) execFileSync('mkfifo', [pipe]);
  workspace.release = async () => {
    if (places < agents) return;
    await delay(togetherMs);
    const file = openSync(pipe, 'w');
    await delay(500);
    closeSync(file);
  };
  const program = workspace.file(
    'echo',
    `#!/bin/sh
read -r prompt
[ -p '${pipe}' ] && : <'${pipe}' && sleep "0.\${prompt#"\${prompt%?}"}"
printf '{"text":"%s"}\\n' "$prompt"
`,
    0o755
  );
  const plugin = workspace.file(
    'echo.mjs',
    `export default {
  kind: 'cli',
  name: 'echo',
  description: 'Gives its prompt back.',
  command: ${JSON.stringify(program)},
  args: () => [],
  read: (reply, event) => ({ ...reply, text: event.text, finished: true })
};
`
  );
  writeFileSync(
    join(workspace.path, '.trouperc.json'),
    JSON.stringify({ plugins: [plugin], maxConcurrent: places })
  );
  return program;
}
