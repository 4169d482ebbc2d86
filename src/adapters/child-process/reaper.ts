/**
 * `node reaper.cjs <agent folder> <why>` records the reason and ends the
 * agent's process tree. A supervisor's watchdog runs it at a limit, because no
 * server may be running. With `left`, it ends the leftovers of an agent that
 * has exited; with `park`, it parks a run that waits for answers.
 */
import { hasExited, stopReasonIn } from '../../core/runs/run-files.ts';
import { parkRun } from '../parking/park-run.ts';
import { killTree } from './kill-tree.ts';
import { thisNamespace } from './process-table.ts';

const [directory = '', why, waiting] = process.argv.slice(2);

if (why === 'left') void killTree({ directory, place: thisNamespace() });
else if (why === 'park')
  void parkRun(directory, waiting === undefined ? undefined : Number(waiting));
else if (!hasExited(directory)) {
  const reason = stopReasonIn(why);
  const target = {
    directory,
    place: thisNamespace(),
    withNested: true,
    ...(reason ? { request: { why: reason } } : {})
  };
  // `onDisconnect: "stop"` ends every process within 5 s of the server.
  const times = why === 'disconnect' ? { graceMs: 2000 } : {};
  void killTree(target, undefined, times);
}
