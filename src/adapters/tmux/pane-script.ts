import { join } from 'node:path';
import type { LaunchRequest } from '../../core/runs/ports.ts';
import { remove, writeNew } from '../../core/state/files/atomic-file.ts';
import { supervisorArguments } from '../child-process/supervise.ts';

/**
 * Variables that describe the terminal. A program gets the pane's values, not
 * the caller's. It may need TMUX and TMUX_PANE for bell, clipboard and title.
 */
const terminalNames = [
  'TERM',
  'COLORTERM',
  'TERM_PROGRAM',
  'TERM_PROGRAM_VERSION',
  'TMUX',
  'TMUX_PANE'
];

/** Variables that some shells refuse to set. */
const shellNames =
  /^(PPID|UID|EUID|OPTIND|LINENO|SHELLOPTS|BASHOPTS|BASH_VERSINFO)$/;

/** Drops the environment that the tmux server was started with. */
const clearScript = `exec /usr/bin/env -i ${terminalNames
  .map((name) => `\${${name}+"${name}=$${name}"}`)
  .join(' ')} /bin/sh -c "$1" troupe-pane "$2"`;

/**
 * Reads directory, environment and arguments from a file, and then executes the
 * program. A value is stored as a line with the number of its line breaks,
 * followed by its lines. The script uses values only as quoted words. `export`
 * comes last, so the script's variables and the program's cannot mix.
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
 * Writes the launch file of a pane and returns the arguments that run it. The
 * arguments contain no variables, because every user can read them.
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
  // A pane has no output files to watch and no pipe from us.
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
