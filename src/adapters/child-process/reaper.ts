/**
 * Run by a supervisor's watchdog at a limit, when perhaps no server is left:
 * `node reaper.cjs <agent folder> <why>`. Writes why, then ends the tree.
 */
import { appendFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { claimOf, hasExited } from '../../core/runs/run-files.ts';
import { killTree } from './kill-tree.ts';
import { thisPlace } from './process-table.ts';

const [directory = '', why = ''] = process.argv.slice(2);

if (!hasExited(directory)) {
  appendFileSync(
    join(directory, 'events.jsonl'),
    `${JSON.stringify({ at: new Date().toISOString(), type: 'stop', why })}\n`,
    { mode: 0o600 }
  );
  const claim = claimOf(directory, thisPlace());
  void killTree(
    {
      agentId: basename(directory),
      directory,
      supervisor: claim?.supervisor
    },
    claim?.watchdogs ?? []
  );
}
