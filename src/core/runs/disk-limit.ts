import { join } from 'node:path';
import { HostError } from '../errors.ts';
import { sizeOf } from '../state/text-file.ts';
import type { RunStore } from './run-store.ts';

const megabyte = 1024 * 1024;

/**
 * Refuses spawns while the folders of all agents hold more than allowed.
 * @param megabytes 0: there is no limit, and nothing is looked at
 * @throws HostError `disk_limit`
 */
export function checkDisk(megabytes: number, store: RunStore): void {
  if (megabytes === 0) return;
  const limit = megabytes * megabyte;
  const working = bytesAtWork(store);
  if (store.sizes.total() + working <= limit) return;
  const bytes = store.sizes.recount() + working;
  if (bytes <= limit) return;
  throw new HostError(
    'disk_limit',
    `The folders of agents hold ${Math.ceil(bytes / megabyte)} MB; diskLimitMegabytes is ${megabytes}.`,
    'The user can remove what was read with "troupe clean" (it shows what there is), or raise diskLimitMegabytes. Nothing was started; agents at work go on.'
  );
}

/** What agents without a recorded end have put out so far. */
function bytesAtWork(store: RunStore): number {
  return store
    .openIds()
    .flatMap((id) =>
      ['prompt.txt', 'stdin', 'stdout', 'stderr'].map((name) =>
        sizeOf(join(store.directoryOf(id), name))
      )
    )
    .reduce((sum, bytes) => sum + bytes, 0);
}
