import { text as readAll } from 'node:stream/consumers';
import { type Command, Option } from 'commander';
import { HostError } from '../../../core/errors.ts';
import { silenceLog } from '../../../host/log.ts';
import { agentIdsIn } from '../../notify/hook-input.ts';
import { watchParents } from '../../notify/parent-watch.ts';
import { waitForWake } from '../../notify/wake.ts';
import { report } from '../../output/output.ts';
import { exitWith } from '../../process/process-end.ts';
import {
  addWorkspaceFlags,
  exitCodes,
  type WorkspaceFlags,
  withHost
} from '../command-options.ts';

/** With this code of a hook, Claude Code gives its stderr to the model. */
const wakes = 2;

export function addNotify(program: Command): void {
  addWorkspaceFlags(
    program
      .command('notify')
      .description('wake the session of a client when its agent ends; a hook')
      .addOption(
        new Option(
          '--hook <client>',
          'the client of the hook; its JSON is on stdin'
        )
          .choices(['claude'])
          .makeOptionMandatory()
      ),
    ['troupe notify --hook claude']
  ).action(async (flags: WorkspaceFlags) => exitWith(await notify(flags)));
}

async function notify(flags: WorkspaceFlags): Promise<number> {
  const isOver = watchParents();
  if (process.stdin.isTTY)
    throw new HostError(
      'invalid_input',
      'A client runs this command, and writes JSON to its stdin.',
      'troupe init claude sets it up; to wait in a terminal: troupe wait'
    );
  const ids = agentIdsIn(await readAll(process.stdin));
  if (ids.length === 0) return exitCodes.done;
  // The client shows all of stderr to the model.
  silenceLog();
  const line = await withHost(flags, (host) => waitForWake(host, ids, isOver));
  if (line === undefined) return exitCodes.done;
  report(line);
  return wakes;
}
