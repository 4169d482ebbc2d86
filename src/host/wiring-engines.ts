import { join } from 'node:path';
import { builtinEngines, optionalEngines } from '../../plugins/index.ts';
import {
  baseDirectoryOf,
  type Config,
  squadEngineOf
} from '../config/config.ts';
import { leftOutLine } from '../config/trust.ts';
import { passedSecrets, secretsIn } from '../core/audit/redaction/redact.ts';
import { ApiKeys } from '../core/engines/api/api-keys.ts';
import { chooseEngines } from '../core/engines/choose-engines.ts';
import {
  EngineRegistry,
  type Replaced
} from '../core/engines/engine-registry.ts';
import { namedBy } from '../core/engines/environment.ts';
import { loadEngines, nameOf } from '../core/engines/load/load-engines.ts';
import { HostError } from '../core/errors.ts';
import type { AskParts } from '../core/runs/start/connect-asks.ts';
import type { Engine } from '../plugin/plugin.ts';
import { log, logProblem } from './log.ts';
import { distDirectory } from './package.ts';

interface WiredEngines {
  registry: EngineRegistry;
  keys: ApiKeys;
}

/**
 * The engines of a configuration, with their keys.
 * @throws HostError `config_invalid` if a flag names an unknown engine, or with
 *   `strict` if something is left out
 */
export async function wireEngines(config: Config): Promise<WiredEngines> {
  reportLeftOut(config);
  const loaded = await loadEngines(config.plugins, baseDirectoryOf(config));
  const keys = new ApiKeys({
    get directories() {
      return [config.workspace, baseDirectoryOf(config)];
    },
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
      'Fix it, or start without --strict to continue without it.'
    );
  keys.remember([...engines, ...others]);
  return {
    keys,
    registry: new EngineRegistry(
      engines,
      config.engines,
      faults,
      others,
      loaded.indexes,
      replacedBy(engines, loaded.indexes, config)
    )
  };
}

/** Built-in engines that a plugin of the same name replaces. */
function replacedBy(
  engines: Engine[],
  pluginIndexes: Map<Engine, number>,
  { plugins }: Config
): Replaced[] {
  const names = [...builtinEngines, ...optionalEngines].map(({ name }) => name);
  return engines.flatMap((engine) => {
    const index = pluginIndexes.get(engine);
    return index === undefined || !names.includes(engine.name)
      ? []
      : [{ engine: engine.name, plugin: nameOf(plugins[index], index) }];
  });
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

/** The settings of engines; only of built-in ones if plugins are left out. */
function settingsIn({ engines, trust }: Config): Config['engines'] {
  if (!trust.leftOut.some(({ setting }) => setting === 'plugins'))
    return engines;
  const names = [...builtinEngines, ...optionalEngines].map(({ name }) => name);
  return Object.fromEntries(
    Object.entries(engines).filter(([name]) => names.includes(name))
  );
}

/** Secrets of the engines' settings, also of settings that were replaced. */
export function configuredSecrets(
  config: Config,
  registry: EngineRegistry
): () => Iterable<string> {
  const secrets = new Set(secretsIn(process.env));
  let known: Config['engines'] | undefined;
  return () => {
    if (config.engines === known) return secrets;
    known = config.engines;
    for (const { env = {}, passEnv = [] } of Object.values(known))
      for (const secret of [
        ...secretsIn(env),
        ...passedSecrets(passEnv, process.env)
      ])
        secrets.add(secret);
    for (const engine of registry.all()) {
      const named =
        engine.kind === 'cli' ? namedBy(engine.env ?? {}, process.env) : [];
      for (const secret of passedSecrets(named, process.env))
        secrets.add(secret);
    }
    return secrets;
  };
}

/** What connects an agent that asks. */
export function askPartsOf(config: Config): AskParts {
  return {
    bridge: {
      command: process.execPath,
      args: [join(distDirectory(), 'ask-bridge.cjs')]
    },
    parked: {
      command: process.execPath,
      args: [join(distDirectory(), 'parked.cjs')]
    },
    tools: ['ask_coordinator'],
    get rules() {
      return config.asks;
    },
    get parkAfterSeconds() {
      return config.asks.parkAfter;
    }
  };
}
