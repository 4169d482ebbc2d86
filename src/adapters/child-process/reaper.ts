/**
 * Run by a supervisor's watchdog at a limit, when perhaps no server is left:
 * `node reaper.cjs <agent folder> <why>`. Writes why, then ends the tree.
 */
import { addEvent, hasExited } from '../../core/runs/run-files.ts';
import { killTree } from './kill-tree.ts';
import { thisPlace } from './process-table.ts';

const [directory = '', why = ''] = process.argv.slice(2);

if (!hasExited(directory)) {
  addEvent(directory, { type: 'stop', why });
  void killTree({ directory, place: thisPlace(), withNested: true });
}
