import { hasToolset } from '../config.ts';
import { HostError } from '../core/errors.ts';
import { readTemplates } from '../core/squads/choose-engine.ts';
import { describeFault } from '../core/squads/role-repository.ts';
import type { Host } from '../host.ts';
import { checkSquadConfig, squadSettingsOf } from '../squad-config.ts';
import { describeError } from './shared.ts';

/** What would keep a squad from starting, or a role from being used. */
export async function checkSquads(host: Host): Promise<string[]> {
  const { config, registry, squads } = host;
  if (!hasToolset(config, 'squad')) return [];
  const { workspace } = config;
  const engines = registry.all().map(({ name }) => name);
  const settings = await problemsOf(async () => {
    checkSquadConfig(workspace, config, engines);
    await readTemplates(squadSettingsOf(config.squad, workspace));
    return [];
  });
  const roles = await problemsOf(async () =>
    (await squads.roles()).faults.map(
      (fault) => `${describeFault(fault)} Mend that file.`
    )
  );
  return [...settings, ...roles];
}

async function problemsOf(look: () => Promise<string[]>): Promise<string[]> {
  try {
    return await look();
  } catch (error) {
    if (error instanceof HostError) return [describeError(error)];
    throw error;
  }
}
