import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { onTestFinished, vi } from 'vitest';
import { loadConfig } from '../../../src/config/config.ts';
import type { Flags } from '../../../src/config/overrides.ts';
import type { WorkerMeta } from '../../../src/core/orchestrator/queue/records.ts';
import type { Worker } from '../../../src/core/orchestrator/queue/worker-store.ts';
import { prepareRecord } from '../../../src/core/paths/records.ts';
import { setStarting } from '../../../src/core/runs/start-marks.ts';
import { ensureDirectory } from '../../../src/core/state/files/directories.ts';
import { createHost, type Host } from '../../../src/host/host.ts';
import { termsOf } from '../../../src/host/wiring-orchestrator.ts';
import type { Engine } from '../../../src/plugin/plugin.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../workspaces/temp-workspace.ts';

export interface HostHere {
  workspace: TempWorkspace;
  host: Host;
}

/**
 * A host in this process, with the rehearsal engine alone and a workspace of
 * its own. Both end with the test.
 * @param plugins more engines, which `engines` of the flags has to name
 */
export async function hostHere(
  flags: Flags = {},
  plugins: Engine[] = []
): Promise<HostHere> {
  const workspace = createTempWorkspace();
  // The council of the user is below it.
  vi.stubEnv('HOME', workspace.home);
  const config = await loadConfig(
    { workspace: workspace.path, engines: 'rehearsal', ...flags },
    { HOME: workspace.home, PATH: process.env.PATH ?? '' }
  );
  const all = [...config.plugins, ...plugins];
  const host = await createHost({ ...config, plugins: all });
  prepareRecord(host.paths);
  onTestFinished(async () => {
    await host.close();
    vi.unstubAllEnvs();
    workspace.remove();
  });
  return { workspace, host };
}

/** Puts a worker on disk whose program is just about to start. */
export function hireWorker(
  { host, workspace }: HostHere,
  agent_id: string,
  meta: Partial<WorkerMeta> = {}
): Worker {
  const { store } = host.orchestrator;
  const { self } = host.processes;
  const terms = termsOf(host.config, self);
  return store.create(
    {
      ...{ v: 1, agent_id, run_id: '0123abcd', cwd: workspace.path },
      ...{ name: 'One', role: 'builder', engine: 'rehearsal', model: null },
      ...{ access: 'full', backend: 'process', pane: null },
      created_at: new Date().toISOString(),
      ...meta
    },
    { role: '', env: {}, depth: 1, terms },
    (folder) => {
      const directory = folder.start(1);
      ensureDirectory(directory);
      writeFileSync(join(directory, 'owner'), JSON.stringify(self));
      setStarting(directory, true);
    }
  );
}
