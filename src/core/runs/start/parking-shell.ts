import type { CliEngine, EngineRequest } from '../../../plugin/plugin.ts';
import { writeResumeFacts } from '../../asks/parking.ts';
import type { Program } from '../program.ts';
import type { Command } from '../spawn-request.ts';

/**
 * Runs a program. When that was ended because its run is parked, the program
 * that waits is run in its place, and that starts the program again. If it is
 * killed, it is run again, up to five times for each time the run is parked.
 * The name of the folder is in its command line, which shows a person the agent
 * that it belongs to.
 *
 * A signal ends the shell only after its program, whose exit code it returns.
 * Its own messages, such as that the program was killed, are dropped.
 */
export const parkingShell = `
node=$1 parked=$2 dir=$3
shift 3
over=
trap over=yes HUP INT QUIT TERM
exec 3>&2 2>/dev/null
(exec "$@" 2>&3 3>&-)
code=$?
tries=0
last=
while [ -z "$over" ] && [ -e "$dir/asks/parked" ] && [ "$tries" -lt 5 ]; do
  now=
  IFS= read -r now <"$dir/asks/parked"
  [ "$now" = "$last" ] || tries=0
  last=$now
  tries=$((tries + 1))
  (exec "$node" "$parked" "$dir" "$code" </dev/null 2>&3 3>&-)
  code=$?
done
exit "$code"
`;

/** The least share of the time limit of an ask that is left after parking. */
const leastShare = 0.2;

/** In arguments, in place of a session whose id is not known yet. */
const placeholder = '00000000-0000-4000-8000-7061726b6564';

type Parkable = CliEngine & {
  asks: { session: { type: string; field: string } };
};

/**
 * Whether a run whose asks may wait so long can be ended meanwhile, and go on
 * in its session.
 */
export function canPark(
  engine: CliEngine,
  askSeconds: number,
  parkAfterSeconds: number
): engine is Parkable {
  return (
    process.platform !== 'win32' &&
    engine.resumes === true &&
    engine.asks?.session !== undefined &&
    parkAfterSeconds > 0 &&
    askSeconds * (1 - leastShare) >= parkAfterSeconds
  );
}

/**
 * Puts the parking shell in front of a program, and writes down how that is
 * continued.
 * @param connect adds the connection of the run to its own program
 */
export function parkable(
  program: Program,
  engine: Parkable,
  request: EngineRequest,
  directory: string,
  parked: Command,
  connect: (args: string[], session: string) => Program
): Program {
  const { systemPrompt, newSessionId, ...known } = request;
  const own = engine.args(request).length;
  const before = program.args.slice(0, program.args.length - own);
  const again = engine.args({ ...known, sessionId: placeholder });
  const { command, args } = connect([...before, ...again], placeholder);
  writeResumeFacts(directory, {
    ...{ command, args, placeholder },
    sessionId: request.sessionId ?? newSessionId ?? null,
    session: engine.asks.session
  });
  const first = connect(program.args, request.sessionId ?? '');
  return {
    ...first,
    command: '/bin/sh',
    args: [
      ...['-c', parkingShell, 'troupe-parking'],
      ...[parked.command, ...parked.args, directory],
      ...[first.command, ...first.args]
    ],
    runs: { command: first.command, args: first.args }
  };
}
