import { join } from 'node:path';
import type { TempWorkspace } from '../temp-workspace.ts';
import { behaviours, bigBytes } from './behaviours.ts';

/**
 * The agent's program. It tells outside of the workspace, in a file of its
 * name, that it has started and that its work is done; the latter before it
 * says so, and only if it is.
 */
function programFor(facts: string): string {
  const flood = behaviours.find(({ kind }) => kind === 'flood')?.bytes;
  return `
ulimit -c 0
set -f -- $(grep -a -m1 '^@chaos ')
kind=$2 name=$3 seconds=$4
fact() { echo "$1 $$ $TROUPE_AGENT_ID" >>'${facts}'/"$name"; }
say() { printf '{"type":"%s","text":"%s"}\\n' "$1" "$2"; }
finish() { fact finish; say done "did $name"; exit 0; }
lines() { yes 'all work and no play makes jack a dull boy' | head -c "$1"; echo; }

fact start
say session "$name"
case $kind in
fast) finish ;;
slow) sleep "$seconds"; finish ;;
chatty)
  n=0
  while [ "$n" -lt 300 ]; do
    n=$((n + 1))
    say progress "step $n"
    [ $((n % 60)) -ne 0 ] || sleep 0.2
  done
  finish ;;
rude) printf '\\377\\376\\033[31m\\0 no text \\200\\n{"type":\\n'; sleep "$seconds"; finish ;;
deaf) exec </dev/null 0<&-; sleep "$seconds"; finish ;;
forker)
  setsid sh -c 'trap "" TERM; sleep 700; :' >/dev/null 2>&1 &
  (setsid sleep 700 >/dev/null 2>&1 &)
  finish ;;
holder) sleep 700 & finish ;;
big) lines ${bigBytes}; finish ;;
crash) sleep "$seconds"; kill -KILL $$; sleep 5; exit 1 ;;
segfault) kill -SEGV $$; sleep 5; exit 1 ;;
fails) sleep "$seconds"; echo 'it went wrong' >&2; exit 7 ;;
mute) sleep "$seconds"; say progress 'nothing more'; exit 0 ;;
flood) lines ${flood}; sleep 700 ;;
overlong) sleep 700 & sleep 700 ;;
stubborn) trap '' TERM; sleep 700; sleep 700; sleep 700 ;;
idle) sleep 700 ;;
*) echo "no such kind: $kind" >&2; exit 9 ;;
esac
`;
}

function pluginFor(name: string, program: string): string {
  return `export default {
  kind: 'cli', name: '${name}', description: 'Is tried hard.',
  command: '/bin/sh', resumes: true,
  args: () => [${JSON.stringify(program)}],
  read: (reply, event) => {
    switch (event?.type) {
      case 'session': return { ...reply, sessionId: event.text };
      case 'progress': return { ...reply, progress: event.text };
      case 'done': return { ...reply, text: event.text, finished: true };
      default: return reply;
    }
  }
};
`;
}

/** Where servers find a template for members of squads. */
export const templateName = 'chaos.template';

/** Puts the engines into the workspace; tells how the config names them. */
export function addChaosEngines(
  workspace: TempWorkspace,
  facts: string
): string[] {
  const program = join(workspace.bin, 'chaos-agent.sh');
  workspace.write('../bin/chaos-agent.sh', programFor(facts));
  workspace.write(templateName, `/bin/sh "${program}"\n`);
  return ['chaos', 'idler'].map((name) => {
    workspace.write(`${name}.mjs`, pluginFor(name, program));
    return `./${name}.mjs`;
  });
}
