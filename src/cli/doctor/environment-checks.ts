import { accessSync, constants, existsSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { hasToolset } from '../../config/config.ts';
import { checkSquadConfig, squadSettingsOf } from '../../config/squads.ts';
import { absolutePath } from '../../core/engines/environment.ts';
import { HostError } from '../../core/errors.ts';
import { orphansIn } from '../../core/paths/records.ts';
import {
  chooseEngine,
  readTemplates
} from '../../core/squads/choose-engine.ts';
import { describeFault } from '../../core/squads/role-repository.ts';
import type { Host } from '../../host/host.ts';
import { describeError } from '../commands/command-options.ts';
import type { DoctorDocument } from '../json/setup-documents.ts';
import { probeProgram } from './probe-program.ts';

const required = '20.19';

type EnvironmentChecks = Pick<
  DoctorDocument,
  'node' | 'directories' | 'unsafe' | 'orphans' | 'tmux'
>;

export async function checkEnvironment(host: Host): Promise<EnvironmentChecks> {
  const { record, shared, views } = host.paths;
  const { node } = process.versions;
  return {
    node: { version: node, required, ok: isAtLeast(node, required) },
    directories: [views.directory, shared.directory, record].map(
      checkDirectory
    ),
    unsafe: unsafeState(host),
    orphans: orphansIn(host.paths.home).map(({ workspace }) => workspace),
    tmux: await checkTmux(host)
  };
}

function isAtLeast(version: string, least: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const [leastMajor = 0, leastMinor = 0] = least.split('.').map(Number);
  return major > leastMajor || (major === leastMajor && minor >= leastMinor);
}

/** Does not create the directory. */
function checkDirectory(
  path: string
): EnvironmentChecks['directories'][number] {
  const stats = statSync(path, { throwIfNoEntry: false });
  if (stats && !stats.isDirectory()) return { path, state: 'not writable' };
  const existing = stats ? path : existingAncestor(path);
  try {
    accessSync(existing, constants.W_OK | constants.X_OK);
  } catch {
    return { path, state: 'not writable' };
  }
  return { path, state: stats ? 'writable' : 'created when needed' };
}

function existingAncestor(path: string): string {
  const next = dirname(path);
  return existsSync(next) || next === path ? next : existingAncestor(next);
}

function unsafeState({ safety }: Host): string | null {
  try {
    safety.check(true);
    return null;
  } catch (error) {
    return describeError(error);
  }
}

async function checkTmux(host: Host): Promise<EnvironmentChecks['tmux']> {
  const path = host.processes.locate('tmux');
  if (path === undefined) return null;
  const environment = { PATH: absolutePath(process.env.PATH ?? '') };
  const answer = await probeProgram(path, ['-V'], environment);
  return { path, version: answer?.stdout.trim() || null };
}

/** Faults that keep a squad from starting, or a role from being used. */
export async function checkSquads(host: Host): Promise<string[]> {
  const { config, registry, squads } = host;
  if (!hasToolset(config, 'squad')) return [];
  const { workspace } = config;
  const settings = await problemsOf(async () => {
    checkSquadConfig(workspace, config, registry.all());
    await fillTemplates(host);
    return [];
  });
  const roles = await problemsOf(async () =>
    (await squads.roles()).faults.map(
      (fault) => `${describeFault(fault)} Correct that file.`
    )
  );
  return [...settings, ...roles];
}

/** Fills in the templates: most of their faults appear only then. */
async function fillTemplates({ config, registry }: Host): Promise<void> {
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

async function problemsOf(check: () => Promise<string[]>): Promise<string[]> {
  try {
    return await check();
  } catch (error) {
    if (error instanceof HostError) return [describeError(error)];
    throw error;
  }
}
