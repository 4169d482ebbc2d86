import { join } from 'node:path';
import type { Access } from '../../../plugin/plugin.ts';
import type { EngineRegistry } from '../../engines/engine-registry.ts';
import { readIfExists } from '../../state/files/atomic-file.ts';
import type { Processes } from '../ports.ts';
import type { RunRecord } from '../run.ts';
import { claimNeverStarts } from '../run-files.ts';
import type { RunStore } from '../run-store.ts';
import type { Waiting } from '../spawn-request.ts';
import { becomeHeir, heirOf, undoStarting } from '../start-marks.ts';
import { engineRequestOf } from './engine-request.ts';
import { capped } from './new-record.ts';

interface TakeOverDependencies {
  store: RunStore;
  registry: EngineRegistry;
  processes: Processes;
  settings: { maxAccess: Access };
}

/**
 * Makes this server start a run whose own server was killed while it prepared
 * the run. Undefined if another server does so, or if none may.
 */
export function takeOver(
  record: RunRecord,
  { registry, processes, settings, store }: TakeOverDependencies
): Waiting | undefined {
  const { parent, owner } = record;
  const directory = store.directoryOf(record.agent_id);
  const engine = registry.find(record.engine);
  const prompt = readIfExists(join(directory, 'prompt.txt'));
  if (engine?.kind !== 'cli' || prompt === undefined) return undefined;
  if (capped(record.access, settings.maxAccess) !== record.access)
    return undefined;
  // An agent's agents end with it.
  if (parent !== null && (!store.has(parent) || store.hasOutcome(parent))) {
    claimNeverStarts(directory);
    return undefined;
  }
  const last = heirOf(directory, owner.place);
  if (last?.identity && processes.liveness(last.identity) !== 'dead')
    return undefined;
  if (!becomeHeir(directory, processes.self, last)) return undefined;
  // From here on, this server is the only one that may start it.
  undoStarting(directory);
  const request = engineRequestOf(record, prompt, registry);
  return { record, engine, request, after: [], isTakenOver: true };
}
