import type { ApiEngine, Engine } from '../../plugin/plugin.ts';
import { HostError } from '../errors.ts';
import { didYouMean } from '../nearest.ts';
import type { EngineSettings, PluginFault } from './engine-registry.ts';

export interface EngineChoice {
  /** Offered unless the settings disable them. */
  builtin: Engine[];
  /** Offered when settings or a flag name them, or when their key is set. */
  optional: Engine[];
  /** From plugins; replace built-in engines of the same name. */
  loaded: Engine[];
  settings: Record<string, EngineSettings>;
  /** When defined, only these and `also` are offered. */
  only: string[] | undefined;
  /** Offered in addition to `only`; an unknown name is ignored. */
  also: string[];
  faults: PluginFault[];
  /** Whether an API engine has the key that it needs. */
  hasKey: (engine: ApiEngine) => boolean;
}

/**
 * Selects the engines to offer. Settings of an unknown engine are a fault.
 * @throws HostError `config_invalid` when `only` names an unknown engine
 */
export function chooseEngines(choice: EngineChoice): {
  engines: Engine[];
  /** Known engines that are not offered. */
  others: Engine[];
  faults: PluginFault[];
} {
  const { builtin, optional, loaded, settings, only, also, faults } = choice;
  const wanted = [...(only ?? []), ...also];
  const known = [...builtin, ...optional, ...loaded];
  const names = [...new Set(known.map(({ name }) => name))];
  for (const name of only ?? [])
    if (!names.includes(name))
      throw new HostError(
        'config_invalid',
        `There is no engine "${name}" to offer${reasonOf(faults)}.`,
        `${didYouMean(name, names)}Engines: ${names.join(', ')}.`
      );
  const named = (name: string) =>
    Object.hasOwn(settings, name) || wanted.includes(name);
  const engines = [
    ...builtin,
    ...optional.filter(
      (engine) =>
        named(engine.name) || (engine.kind === 'api' && choice.hasKey(engine))
    ),
    ...loaded
  ].filter(
    ({ name }) =>
      settings[name]?.enabled !== false &&
      (only === undefined || wanted.includes(name))
  );
  return {
    engines,
    others: known.filter((engine) => !engines.includes(engine)),
    faults: [...faults, ...unknownSettings(settings, names)]
  };
}

/** Reports settings of unknown engines: a typo, or a missing plugin. */
function unknownSettings(
  settings: Record<string, EngineSettings>,
  names: string[]
): PluginFault[] {
  return Object.keys(settings)
    .filter((name) => !names.includes(name))
    .map((name) => ({
      plugin: name,
      problem: `the configuration has settings for it, but there is no such engine. ${didYouMean(name, names)}Engines: ${names.join(', ')}`
    }));
}

function reasonOf(faults: PluginFault[]): string {
  const [first] = faults;
  return first ? ` (${first.plugin} does not load: ${first.problem})` : '';
}
