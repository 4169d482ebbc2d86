import { onTestFinished } from 'vitest';
import { loadConfig } from '../../../src/config/config.ts';
import type { Flags } from '../../../src/config/overrides.ts';
import { prepareRecord } from '../../../src/core/paths/records.ts';
import { createHost, type Host } from '../../../src/host/host.ts';
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
 */
export async function hostHere(flags: Flags = {}): Promise<HostHere> {
  const workspace = createTempWorkspace();
  const config = await loadConfig(
    { workspace: workspace.path, engines: 'rehearsal', ...flags },
    { HOME: workspace.home, PATH: process.env.PATH ?? '' }
  );
  const host = await createHost(config);
  prepareRecord(host.paths);
  onTestFinished(async () => {
    await host.close();
    workspace.remove();
  });
  return { workspace, host };
}
