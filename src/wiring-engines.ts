import { builtinEngines, optionalEngines } from '../plugins/index.ts';
import { baseDirectoryOf, type Config, squadEngineOf } from './config.ts';
import { ApiKeys } from './core/engines/api-keys.ts';
import { chooseEngines } from './core/engines/choose-engines.ts';
import { EngineRegistry } from './core/engines/engine-registry.ts';
import { loadEngines } from './core/engines/load-engines.ts';
import { HostError } from './core/errors.ts';
import { log, logProblem } from './log.ts';
import { leftOutLine } from './trust/left-out.ts';

export interface WiredEngines {
  registry: EngineRegistry;
  keys: ApiKeys;
}

/**
 * The engines of a configuration, with their keys.
 * @throws HostError `config_invalid` when a flag names an engine there is
 *   not, or with `strict` when something is left out
 */
export async function wireEngines(config: Config): Promise<WiredEngines> {
  reportLeftOut(config);
  const loaded = await loadEngines(config.plugins, baseDirectoryOf(config));
  const keys = new ApiKeys({
    directories: [config.workspace, baseDirectoryOf(config)],
    onProblem: log
  });
  const { engines, others, faults } = chooseEngines({
    builtin: builtinEngines,
    optional: optionalEngines,
    loaded: loaded.engines,
    settings: settingsIn(config),
    only: config.onlyEngines,
    also: [...squadEngineOf(config), ...(config.alsoEngines ?? [])],
    hasKey: (engine) => keys.find(engine) !== undefined,
    faults: loaded.faults
  });
  for (const { plugin, problem } of faults)
    log(`${plugin} was left out: ${problem}`);
  const [fault] = faults;
  if (config.strict && fault)
    throw new HostError(
      'config_invalid',
      `${fault.plugin} was left out: ${fault.problem}.`,
      'Mend it, or start without --strict to go on without it.'
    );
  keys.remember([...engines, ...others]);
  return {
    keys,
    registry: new EngineRegistry(
      engines,
      config.engines,
      faults,
      others,
      loaded.places
    )
  };
}

/** @throws HostError `config_invalid` with `strict` */
function reportLeftOut({ strict, trust }: Config): void {
  const line = leftOutLine(trust);
  if (line === undefined) return;
  if (strict)
    throw new HostError(
      'config_invalid',
      `With --strict nothing may be left out: ${line}.`,
      'Or start without --strict to go on without it.'
    );
  logProblem(line);
}

/** Without those of engines that are left out with their plugin. */
function settingsIn({ engines, trust }: Config): Config['engines'] {
  if (!trust.leftOut.some(({ setting }) => setting === 'plugins'))
    return engines;
  const names = [...builtinEngines, ...optionalEngines].map(({ name }) => name);
  return Object.fromEntries(
    Object.entries(engines).filter(([name]) => names.includes(name))
  );
}
