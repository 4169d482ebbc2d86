import { join } from 'node:path';
import type { TempWorkspace } from '../kit/workspaces/temp-workspace.ts';
import { behaviours, bigBytes, lineCount, lineOf } from './behaviours.ts';

/**
 * The agent's program. It records its start and the completion of its work in
 * a file outside of the workspace; completion before it prints so, and only
 * if it is true.
 */
function programFor(facts: string, sockets: string): string {
  const flood = behaviours.find(({ kind }) => kind === 'flood')?.bytes;
  return `
ulimit -c 0
plain=\${1-}
set -f -- $(grep -a -m1 '^@chaos ')
kind=$2 name=$3 seconds=$4
fact() { echo "$1 $$ $TROUPE_AGENT_ID" >>'${facts}'/"$name"; }
say() {
  [ "$plain" = plain ] || { printf '{"type":"%s","text":"%s"}\\n' "$1" "$2"; return; }
  [ "$1" != done ] || echo "$2"
}
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
flood) lines ${flood} && sleep 700 ;;
overlong) sleep 700 & sleep 700 ;;
stubborn) trap '' TERM; sleep 700; sleep 700; sleep 700 ;;
idle) sleep 700 ;;
lines)
  n=0
  while [ "$n" -lt ${lineCount} ]; do
    n=$((n + 1))
    echo "${lineOf('$n', '$name')}"
    sleep 0.1
  done
  finish ;;
reopener)
  echo "first of $name"
  echo "second of $name" >/dev/stdout
  echo "third of $name" | tee /dev/stderr
  finish ;;
writer) echo "by $name" >"${madeBy('$name')}"; sleep "$seconds"; finish ;;
isolated) mkdir -p lib; echo 'hours of work' >"${newBelow('$name')}"; sleep "$seconds"; finish ;;
reader) cat readme.txt >/dev/null; sleep "$seconds"; finish ;;
patient) sleep "$seconds"; finish ;;
multiplexer)
  # Where the default socket is, unless somebody has said otherwise.
  export TMUX_TMPDIR="\${TMUX_TMPDIR:-${sockets}}"
  tmux -f /dev/null new-session -d -s "dev-$name" 'exec sleep 700'
  fact session
  sleep "$seconds"
  finish ;;
*) echo "no such kind: $kind" >&2; exit 9 ;;
esac
`;
}

/** What a writer makes in the directory that all share. */
export function madeBy(name: string): string {
  return `made-by-${name}.txt`;
}

/** What an isolated agent makes below a gitlink. */
export function newBelow(name: string): string {
  return `lib/new-${name}.c`;
}

/** An engine whose answer is all that it prints. */
function plainPluginFor(program: string): string {
  const args = JSON.stringify([program, 'plain']);
  return `export default {
  kind: 'cli', name: 'plain', description: 'Is tried hard, in plain words.',
  command: '/bin/sh',
  args: () => ${args}
};
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

/**
 * Puts the engines into the workspace; returns how the config names them.
 * @param sockets where tmux has its default socket
 */
export function addChaosEngines(
  workspace: TempWorkspace,
  facts: string,
  sockets = facts
): string[] {
  const program = join(workspace.bin, 'chaos-agent.sh');
  workspace.write('../bin/chaos-agent.sh', programFor(facts, sockets));
  workspace.write(templateName, `/bin/sh "${program}"\n`);
  const plugins = {
    chaos: pluginFor('chaos', program),
    idler: pluginFor('idler', program),
    plain: plainPluginFor(program)
  };
  return Object.entries(plugins).map(([name, text]) => {
    workspace.write(`${name}.mjs`, text);
    return `./${name}.mjs`;
  });
}
