import { basename } from 'node:path';
import type { PluginFault } from '../../core/engines/engine-registry.ts';
import { terminalLine, visibleText } from '../../core/text.ts';
import type { DoctorDocument, EngineCheck } from '../json/setup-documents.ts';
import { colorsFor, print } from '../output/output.ts';
import { counted } from '../output/text.ts';

type Findings = Omit<DoctorDocument, 'next'>;

/**
 * The steps for the user, most urgent first.
 * @param settings names of engines that only the settings mention
 */
export function nextSteps(found: Findings, settings: string[]): string[] {
  const { config, node, directories, unsafe, squads, engines } = found;
  const { left_out: left } = found;
  const steps: string[] = [];
  if (config.problem !== null) steps.push(config.problem);
  if (left.length > 0)
    steps.push(
      `Look at what this workspace asks for, and trust it if you want that: troupe trust (${counted(left.length, 'setting')} left out)`
    );
  if (unsafe !== null) steps.push(terminalLine(unsafe));
  for (const { plugin, problem } of pluginFaults(found))
    steps.push(
      settings.includes(plugin)
        ? `Correct the name ${plugin} in "engines", or take it out: ${terminalLine(problem)}`
        : `Fix the plugin ${plugin}, or remove it from "plugins": ${terminalLine(problem)}`
    );
  steps.push(...squads.map(terminalLine));
  if (!node.ok) steps.push(`Use Node ${node.required} or newer.`);
  for (const { path, state } of directories)
    if (state === 'not writable')
      steps.push(`Make ${path} a directory you may write to.`);
  if (found.orphans.length > 0) steps.push(orphanStep(found.orphans));
  const ready = engines.find((engine) => engine.ready);
  for (const { name, next, available } of engines)
    if (next !== null && (available || !ready)) steps.push(`${name}: ${next}`);
  const first = ready?.name ?? 'rehearsal';
  const task = ready ? 'explain this repository' : 'say hello';
  const note = ready ? '' : ', which asks no model';
  steps.push(`Try: troupe run ${first} "${task}"${note}`);
  return steps;
}

/** Plugin faults, except for plugins that are left out for lack of trust. */
function pluginFaults({ faults, left_out: left }: Findings): PluginFault[] {
  const settings = left.map(({ setting }) => setting);
  return faults.filter(({ plugin }) => !settings.includes(plugin));
}

/** A moved workspace lists no agents until it takes over its old record. */
function orphanStep(orphans: string[]): string {
  const [first = ''] = orphans;
  const more = orphans.length > 1 ? ` and ${orphans.length - 1} more` : '';
  return `Records of workspaces that are gone: ${terminalLine(first)}${more}. Where one was moved, run "troupe record --from OLD_PATH" in its new place; to remove them: troupe clean --orphans`;
}

export function printDiagnosis(found: DoctorDocument): Promise<void> {
  return print(diagnosisText(found));
}

export function diagnosisText(found: DoctorDocument): string {
  const { bold } = colorsFor(process.stdout);
  const plugins = pluginFaults(found);
  const steps = found.next.map(
    (step, index) => `  ${index + 1}. ${visibleText(step)}`
  );
  const sections = [
    [bold(`troupe ${found.version}`), ...environmentLines(found)],
    ...found.engines.map(engineLines),
    ...(found.left_out.length > 0 ? [leftOutLines(found)] : []),
    ...(plugins.length > 0 ? [faultLines(plugins)] : []),
    [bold('What to do next'), ...steps]
  ];
  return `${sections.map((lines) => lines.join('\n')).join('\n\n')}\n`;
}

function environmentLines(found: Findings): string[] {
  const { green, red, yellow } = colorsFor(process.stdout);
  const { node, config, tmux, workspace, directories, unsafe, squads } = found;
  const nodeText = `${node.version} (needs ${node.required} or newer)`;
  return [
    line('node', nodeText, node.ok ? green : red),
    line('workspace', workspace),
    config.problem
      ? line('config', 'not valid', red)
      : line('config', config.file ?? 'none, defaults are used'),
    ...directories.map(({ path, state }) =>
      line(
        directoryNames.get(basename(path)) ?? 'record',
        directoryText(path, state),
        state === 'not writable' ? red : undefined
      )
    ),
    ...(unsafe === null ? [] : [line('state', 'not safe', red)]),
    tmux
      ? line('tmux', `${tmux.version ?? ''} ${tmux.path}`.trim())
      : line('tmux', noTmux, yellow),
    ...(squads.length > 0 ? [line('squads', 'at fault', red)] : [])
  ];
}

const directoryNames = new Map([
  ['logs', 'logs'],
  ['.agents', '.agents']
]);

/** Directories in the workspace are shown without their path. */
function directoryText(path: string, state: string): string {
  return directoryNames.has(basename(path)) ? state : `${state}, ${path}`;
}

function engineLines(engine: EngineCheck): string[] {
  const { bold, green, red, yellow } = colorsFor(process.stdout);
  const { name, kind, path, version, tested, login, access, keys } = engine;
  const state = engine.ready ? green('ready') : red('not ready');
  const lines = [`${bold(name)} (${kind}): ${state}`];
  if (engine.replaced_by !== undefined)
    lines.push(
      line('plugin', `${engine.replaced_by}, in place of the built-in engine`)
    );
  if (kind === 'cli') {
    lines.push(line('program', path ?? `"${engine.command}" is not on PATH`));
    if (path !== null) {
      lines.push(
        version === null
          ? line('version', 'unknown', yellow)
          : line('version', version)
      );
      if (tested) lines.push(driftLine(tested));
      lines.push(line('login', login ?? 'unknown'));
    }
  }
  if (access) {
    const parts = Object.entries(access).map(
      ([level, enforcement]) => `${level} ${enforcement}`
    );
    lines.push(line('access', parts.join(', ')));
  }
  const seen = keys.map((key) => `${key.name} (${key.from})`);
  lines.push(line('keys', seen.join(', ') || 'none seen'));
  const passed = engine.pass_env.map(
    (one) => `${one.name} (${one.is_set ? 'set' : 'not set'})`
  );
  if (passed.length > 0) lines.push(line('passEnv', passed.join(', ')));
  if (engine.next !== null) lines.push(line('next', engine.next));
  return lines;
}

function driftLine({ says, gone }: NonNullable<EngineCheck['tested']>): string {
  const { red, yellow } = colorsFor(process.stdout);
  if (gone?.length) return line('tested', says, red);
  return line('tested', says, says === 'verified' ? undefined : yellow);
}

function leftOutLines({ left_out: left }: Findings): string[] {
  const { bold, red } = colorsFor(process.stdout);
  const state = left.some(({ changed }) => changed)
    ? 'Left out: the workspace has changed since you trusted it'
    : 'Left out: the workspace is not trusted';
  return [
    bold(state),
    ...left.map(({ setting, allows }) => `  ${red(setting)}: ${allows}`)
  ];
}

function faultLines(faults: PluginFault[]): string[] {
  const { bold, red } = colorsFor(process.stdout);
  return [
    bold('Plugins that do not load'),
    ...faults.map(({ plugin, problem }) => line(plugin, problem, red))
  ];
}

const noTmux = 'not installed (needed for the orchestrator toolset only)';

function line(
  name: string,
  text: string,
  color: (text: string) => string = String
): string {
  return `  ${terminalLine(name).padEnd(10)} ${color(terminalLine(text))}`;
}
