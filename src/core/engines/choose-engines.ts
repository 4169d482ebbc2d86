import type { ApiEngine, Engine } from '../../plugin.ts';
import { HostError } from '../errors.ts';
import { didYouMean } from '../nearest.ts';
import type { EngineSettings, PluginFault } from './engine-registry.ts';

export interface EngineChoice {
  /** Offered unless switched off. */
  builtin: Engine[];
  /** Offered when settings or a flag name them, or when their key is there. */
  optional: Engine[];
  /** Brought by plugins; they take the place of a built-in of their name. */
  loaded: Engine[];
  settings: Record<string, EngineSettings>;
  /** When given, exactly these are offered. */
  only: string[] | undefined;
  /** Named besides; no fault when there are none of that name. */
  also: string[];
  faults: PluginFault[];
  /** Whether an API engine could be asked. */
  hasKey: (engine: ApiEngine) => boolean;
}

/**
 * The engines that are offered, and the faults of settings for none.
 * @throws HostError `config_invalid` when `only` names an engine there is not
 */
export function chooseEngines(choice: EngineChoice): {
  engines: Engine[];
  /** There, but not offered. */
  others: Engine[];
  faults: PluginFault[];
} {
  const { builtin, optional, loaded, settings, only, also, faults } = choice;
  const wanted = [...(only ?? []), ...also];
  const there = [...builtin, ...optional, ...loaded];
  const names = [...new Set(there.map(({ name }) => name))];
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
  const others = there.filter((engine) => !engines.includes(engine));
  return {
    engines,
    others,
    faults: [...faults, ...strangers(settings, names)]
  };
}

/** Settings whose engine is not there: a slip, or a plugin that is missing. */
function strangers(
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
