import { hasToolset } from '../config.ts';
import { HostError } from '../core/errors.ts';
import { chooseEngine, readTemplates } from '../core/squads/choose-engine.ts';
import { describeFault } from '../core/squads/role-repository.ts';
import type { Host } from '../host.ts';
import { checkSquadConfig, squadSettingsOf } from '../squad-config.ts';
import { describeError } from './shared.ts';

/** What would keep a squad from starting, or a role from being used. */
export async function checkSquads(host: Host): Promise<string[]> {
  const { config, registry, squads } = host;
  if (!hasToolset(config, 'squad')) return [];
  const { workspace } = config;
  const settings = await problemsOf(async () => {
    checkSquadConfig(workspace, config, registry.all());
    await tryOut(host);
    return [];
  });
  const roles = await problemsOf(async () =>
    (await squads.roles()).faults.map(
      (fault) => `${describeFault(fault)} Mend that file.`
    )
  );
  return [...settings, ...roles];
}

/** Templates tell most of their faults only when they are filled in. */
async function tryOut({ config, registry }: Host): Promise<void> {
  const { workspace } = config;
  const settings = squadSettingsOf(config.squad, workspace);
  const templates = await readTemplates(settings);
  if (!templates.run && !templates.createChat) return;
  const role = { id: 'some-role', name: '', description: '', body: '' };
  const work = {
    prompt: 'Some prompt.',
    task: 'Some task.',
    cwd: workspace,
    workspace,
    access: 'full' as const,
    asRoot: false
  };
  for (const chat of [{}, { sessionId: 'some-chat' }])
    chooseEngine(role, { ...work, ...chat }, settings, templates, registry);
}

async function problemsOf(look: () => Promise<string[]>): Promise<string[]> {
  try {
    return await look();
  } catch (error) {
    if (error instanceof HostError) return [describeError(error)];
    throw error;
  }
}
