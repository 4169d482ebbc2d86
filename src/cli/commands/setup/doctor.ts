import type { Command } from 'commander';
import { type Config, loadConfig } from '../../../config/config.ts';
import { defaultConfig } from '../../../config/defaults.ts';
import { type Trust, trustsAll } from '../../../config/trust.ts';
import { HostError } from '../../../core/errors.ts';
import { troupeHome } from '../../../core/paths/troupe-home.ts';
import { terminalLine } from '../../../core/text.ts';
import { createHost, type Host } from '../../../host/host.ts';
import { version } from '../../../host/package.ts';
import { workspaceOf } from '../../../host/workspace-root.ts';
import { nextSteps, printDiagnosis } from '../../doctor/doctor-report.ts';
import { checkEngine } from '../../doctor/engine-check.ts';
import {
  checkEnvironment,
  checkSquads
} from '../../doctor/environment-checks.ts';
import type { DoctorDocument } from '../../json/setup-documents.ts';
import { printJson } from '../../output/output.ts';
import { exitWith } from '../../process/process-end.ts';
import {
  addWorkspaceFlags,
  describeError,
  exitCodes,
  type WorkspaceFlags
} from '../command-options.ts';

export function addDoctor(program: Command): void {
  addWorkspaceFlags(
    program
      .command('doctor')
      .description('what works here, what does not, and what to do about it')
      .option('--json', 'print JSON'),
    ['troupe doctor', 'troupe doctor --json']
  ).action(async (flags: WorkspaceFlags) => exitWith(await doctor(flags)));
}

async function doctor(flags: WorkspaceFlags): Promise<number> {
  const { config, problem } = await configOrDefaults(flags);
  const host = await createHost(config);
  // Without the settings of the user, the command must not change anything.
  if (problem === null) await host.attend();
  try {
    const diagnosis = await diagnose(host, problem);
    if (flags.json) await printJson<DoctorDocument>(diagnosis);
    else await printDiagnosis(diagnosis);
    return diagnosis.ok ? exitCodes.done : exitCodes.error;
  } finally {
    if (problem === null) await host.close();
  }
}

async function diagnose(
  host: Host,
  problem: string | null
): Promise<DoctorDocument> {
  const { config, registry } = host;
  const [environment, engines, squads] = await Promise.all([
    checkEnvironment(host),
    Promise.all(registry.all().map((engine) => checkEngine(host, engine))),
    checkSquads(host)
  ]);
  const isFaultless = host.faults.length === 0 && squads.length === 0;
  const found = {
    ok: problem === null && environment.unsafe === null && isFaultless,
    version,
    workspace: config.workspace,
    config: { file: config.file ?? null, problem },
    ...environment,
    engines,
    faults: host.faults,
    left_out: leftOutJson(config.trust),
    squads
  };
  const settings = Object.keys(config.engines).filter(
    (name) => !config.plugins.includes(name)
  );
  return { ...found, next: nextSteps(found, settings) };
}

function leftOutJson({
  leftOut,
  hasChanged
}: Trust): DoctorDocument['left_out'] {
  return leftOut.map(({ setting, allows }) => ({
    setting,
    allows: terminalLine(allows),
    changed: hasChanged
  }));
}

/** Reports an invalid configuration as a finding and uses the defaults. */
async function configOrDefaults(
  flags: WorkspaceFlags
): Promise<{ config: Config; problem: string | null }> {
  const workspace = workspaceOf(flags, process.env);
  try {
    const config = await loadConfig({ ...flags, forSquads: true });
    return { config, problem: null };
  } catch (error) {
    if (!(error instanceof HostError)) throw error;
    const rest = defaultConfig();
    const config: Config = {
      ...rest,
      engines: {},
      onlyEngines: undefined,
      workspace,
      home: troupeHome(),
      file: undefined,
      strict: false,
      trust: trustsAll
    };
    return { config, problem: describeError(error) };
  }
}
