import { join } from 'node:path';
import type { LaunchRequest } from '../../core/runs/ports.ts';
import { remove, writeNew } from '../../core/state/atomic-file.ts';
import { supervisorArguments } from '../child-process/supervise.ts';

/**
 * What the terminal says of itself: the pane's is right, not the caller's.
 * TMUX and TMUX_PANE tell programs how to ring, copy and name themselves.
 */
const terminalNames = [
  'TERM',
  'COLORTERM',
  'TERM_PROGRAM',
  'TERM_PROGRAM_VERSION',
  'TMUX',
  'TMUX_PANE'
];

/** Names that some shell does not let anybody set. */
const shellNames =
  /^(PPID|UID|EUID|OPTIND|LINENO|SHELLOPTS|BASHOPTS|BASH_VERSINFO)$/;

/** Drops what the tmux server was started with: it is somebody else's. */
const clearScript = `exec /usr/bin/env -i ${terminalNames
  .map((name) => `\${${name}+"${name}=$${name}"}`)
  .join(' ')} /bin/sh -c "$1" troupe-pane "$2"`;

/**
 * Reads directory, environment and arguments, and becomes that program. Each
 * value comes as a line with the number of its line breaks, then its lines.
 * They are only ever quoted words; \`export\` comes last, so that no variable
 * of ours is one of theirs.
 */
const startScript = `
break='
'
value() {
  IFS= read -r more <&3 && IFS= read -r value <&3 || return 1
  while [ "$more" -gt 0 ]; do
    IFS= read -r line <&3 || return 1
    value=$value$break$line
    more=$((more - 1))
  done
}
file=$1
exec 3<"$file" || exit 126
command -p rm -f -- "$file"
shift
value || exit 126
cd -- "$value" || exit 126
unset OLDPWD
while value; do set -- "$@" "$value"; done
exec 3<&-
unset break file more line value
unset -f value
while [ -n "$1" ]; do
  export "$1"
  shift
done
shift
exec "$@"
`;

/**
 * Lays out what a pane is to run and gives the arguments that make it do so.
 * They hold nothing of the environment: everybody can read arguments.
 */
export function preparePane(request: LaunchRequest, reaper: string): string[] {
  const file = join(request.directory, 'launch');
  remove(file);
  writeNew(file, launchText(request, reaper));
  return ['/bin/sh', '-c', clearScript, 'troupe-pane', startScript, file];
}

function launchText(request: LaunchRequest, reaper: string): string {
  const environment = Object.entries(request.environment)
    .filter(([name]) => /^[A-Za-z_]\w*$/.test(name))
    .filter(([name]) => !terminalNames.includes(name) && !shellNames.test(name))
    .map(([name, value]) => `${name}=${value}`);
  // It has no output files to watch and no pipe from us.
  const inPane = {
    ...request,
    idleTimeoutSeconds: 0,
    outputLimitBytes: 0,
    stopWithUs: false
  };
  const program = ['/bin/sh', ...supervisorArguments(inPane, reaper)];
  return [request.cwd, ...environment, '', ...program]
    .map((value) => `${value.split('\n').length - 1}\n${value}\n`)
    .join('');
}
