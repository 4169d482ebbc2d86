/** The agents that load.mjs starts. */
import { execFileSync } from 'node:child_process';
import { closeSync, openSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

/** How long all agents run at once before the first of them ends. */
const togetherMs = 3000;

/**
 * Installs an agent that returns its prompt. If all agents have a slot, none
 * ends before `release` opens a pipe; then each ends within a second, also one
 * that starts later. What it returns closes the pipe.
 */
export function configure(workspace, { agents, slots }) {
  const pipe = join(workspace.base, 'pipe');
  if (slots >= agents) execFileSync('mkfifo', [pipe]);
  workspace.release = async () => {
    if (slots < agents) return () => undefined;
    await delay(togetherMs);
    const file = openSync(pipe, 'w');
    return () => closeSync(file);
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
    JSON.stringify({ plugins: [plugin], maxConcurrent: slots })
  );
  return program;
}
