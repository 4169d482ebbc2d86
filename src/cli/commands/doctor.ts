import type { Command } from 'commander';
import { type Config, loadConfig } from '../../config.ts';
import { configSchema } from '../../config-schema.ts';
import { HostError } from '../../core/errors.ts';
import { troupeHome } from '../../core/paths/troupe-home.ts';
import { createHost, type Host } from '../../host.ts';
import { type Trust, trustsAll } from '../../trust/trust.ts';
import { version } from '../../version.ts';
import { workspaceOf } from '../../workspace-root.ts';
import { type Diagnosis, nextSteps, printDiagnosis } from '../diagnosis.ts';
import { checkEngine } from '../engine-check.ts';
import type { DoctorDocument } from '../json/facts-document.ts';
import { printJson } from '../output.ts';
import { exitWith } from '../process-end.ts';
import {
  addWorkspaceFlags,
  describeError,
  examples,
  exitCodes,
  type JsonFlag,
  type WorkspaceFlags
} from '../shared.ts';
import { checkSquads } from '../squad-check.ts';
import { checkSurroundings } from '../surroundings.ts';
import { oneLine } from '../text.ts';

type DoctorFlags = WorkspaceFlags & JsonFlag;

export function addDoctor(program: Command): void {
  addWorkspaceFlags(
    program
      .command('doctor')
      .description('what works here, what does not, and what to do about it')
      .option('--json', 'print JSON')
  )
    .addHelpText('after', examples(['troupe doctor', 'troupe doctor --json']))
    .action(async (flags: DoctorFlags) => exitWith(await doctor(flags)));
}

async function doctor(flags: DoctorFlags): Promise<number> {
  const { config, problem } = await configOrDefaults(flags);
  const host = await createHost(config);
  // With settings that are not the user's we look, and settle nothing.
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
): Promise<Diagnosis> {
  const { config, registry } = host;
  const [surroundings, engines, squads] = await Promise.all([
    checkSurroundings(host),
    Promise.all(registry.all().map((engine) => checkEngine(host, engine))),
    checkSquads(host)
  ]);
  const whole = host.faults.length === 0 && squads.length === 0;
  const found = {
    ok: problem === null && surroundings.unsafe === null && whole,
    version,
    workspace: config.workspace,
    config: { file: config.file ?? null, problem },
    ...surroundings,
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

function leftOutJson({ leftOut, hasChanged }: Trust): Diagnosis['left_out'] {
  return leftOut.map(({ setting, allows }) => ({
    setting,
    allows: oneLine(allows),
    changed: hasChanged
  }));
}

/** A configuration that does not hold is one more thing to tell. */
async function configOrDefaults(
  flags: WorkspaceFlags
): Promise<{ config: Config; problem: string | null }> {
  const workspace = workspaceOf(flags, process.env);
  try {
    const config = await loadConfig({ ...flags, forSquads: true });
    return { config, problem: null };
  } catch (error) {
    if (!(error instanceof HostError)) throw error;
    const { $schema, engines, ...rest } = configSchema.parse({});
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
