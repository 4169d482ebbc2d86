import { join } from 'node:path';
import { livingPrograms } from '../orchestrator/process/lost-workers.ts';
import {
  WorkerFolder,
  workersIn
} from '../orchestrator/queue/worker-folder.ts';
import type { RecordUse } from '../paths/records.ts';
import type { Processes } from '../runs/ports.ts';
import { isAgentId, type RunRecord } from '../runs/run.ts';
import { claimOf } from '../runs/run-files.ts';
import { isOverIn, liveStateOf } from '../runs/run-state.ts';
import { RunStore } from '../runs/run-store.ts';
import { namesIn } from '../state/files/directories.ts';
import { processMarks } from '../state/locks/process-marks.ts';

type Liveness = Pick<Processes, 'self' | 'liveness'>;

/**
 * What uses a record: a server that may be alive, or agents and workers, whose
 * supervisors write to its absolute path. Undefined when nothing does.
 */
export function useOf(
  record: string,
  processes: Liveness
): RecordUse | undefined {
  const servers = processMarks(join(record, 'servers'), processes);
  if (servers.some(({ isAlive }) => isAlive))
    return {
      clause: 'a server of troupe works with it',
      hint: 'Close the clients of that workspace and call again.'
    };
  const store = new RunStore(record);
  const agents = store
    .markedIds()
    .filter((id) => isAgentAtWork(id, store, processes));
  const workers = namesIn(workersIn({ record }))
    .filter(isAgentId)
    .filter((id) => isWorkerAtWork(id, record, processes));
  const count = agents.length + workers.length;
  if (count === 0) return undefined;
  const groups = [named('agent', agents), named('worker', workers)];
  const names = groups.filter(Boolean).join(' and ');
  return {
    clause: `${names} ${count === 1 ? 'is' : 'are'} at work`,
    hint: 'Wait for the end and call again. To end agents before that, move the workspace back and call troupe cancel there.'
  };
}

function isAgentAtWork(
  id: string,
  store: RunStore,
  processes: Liveness
): boolean {
  const directory = store.directoryOf(id);
  const record = recordIn(id, store);
  if (record) return !isOverIn(liveStateOf(record, directory, processes));
  const claim = claimOf(directory, processes.self.place);
  return (
    claim?.supervisor !== undefined &&
    processes.liveness(claim.supervisor) !== 'dead'
  );
}

/** Undefined also for a damaged record; its supervisor may run. */
function recordIn(id: string, store: RunStore): RunRecord | undefined {
  try {
    return store.recordOf(id);
  } catch {
    return undefined;
  }
}

function isWorkerAtWork(
  id: string,
  record: string,
  processes: Liveness
): boolean {
  // Only the folder in the record is read.
  const shared = { agents: '', run: '' };
  const folder = new WorkerFolder({ record, shared }, id);
  return livingPrograms(folder, processes).length > 0;
}

const mostNamed = 10;

/** `agents 1a2b3c4d, 2b3c4d5e`; '' without ids. */
function named(noun: string, ids: string[]): string {
  if (ids.length === 0) return '';
  const more = ids.length - mostNamed;
  const rest = more > 0 ? `, and ${more} more` : '';
  const plural = ids.length === 1 ? '' : 's';
  return `${noun}${plural} ${ids.slice(0, mostNamed).join(', ')}${rest}`;
}
