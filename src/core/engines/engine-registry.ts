import { basename } from 'node:path';
import type {
  Access,
  CliEngine,
  Enforcement,
  Engine
} from '../../plugin/plugin.ts';
import { HostError } from '../errors.ts';
import { didYouMean } from '../nearest.ts';

export interface EngineSettings {
  enabled?: boolean | undefined;
  command?: string | undefined;
  args?: string[] | undefined;
  model?: string | undefined;
  timeoutSeconds?: number | undefined;
  idleTimeoutSeconds?: number | undefined;
  retrySeconds?: number | undefined;
  baseUrl?: string | undefined;
  stream?: boolean | undefined;
  env?: Record<string, string> | undefined;
  passEnv?: string[] | undefined;
  maxConcurrent?: number | undefined;
}

/** A configured plugin that could not be loaded. */
export interface PluginFault {
  plugin: string;
  problem: string;
}

/** A built-in engine that a plugin has replaced. */
export interface Replaced {
  engine: string;
  /** The plugin's name in the configuration. */
  plugin: string;
}

/** The engines of this host by name, with the user's settings. */
export class EngineRegistry {
  readonly #engines = new Map<string, Engine>();
  #settings: Record<string, EngineSettings>;
  readonly faults: PluginFault[];
  readonly replaced: Replaced[];
  readonly #notOffered: Engine[];
  readonly #plugins: Map<Engine, number>;

  /**
   * @param notOffered known engines that this server does not offer; another
   *   server may run agents with them
   * @param plugins the index of each engine in the configuration's `plugins`
   */
  constructor(
    engines: Engine[],
    settings: Record<string, EngineSettings>,
    faults: PluginFault[] = [],
    notOffered: Engine[] = [],
    plugins = new Map<Engine, number>(),
    replaced: Replaced[] = []
  ) {
    for (const engine of engines) this.#engines.set(engine.name, engine);
    this.#settings = settings;
    this.faults = faults;
    this.replaced = replaced;
    this.#notOffered = notOffered;
    this.#plugins = plugins;
  }

  /** Replaces the settings of all engines, for runs from now on. */
  configure(settings: Record<string, EngineSettings>): void {
    this.#settings = settings;
  }

  /** All offered engines, in order of registration. */
  all(): Engine[] {
    return [...this.#engines.values()].filter(({ name }) => this.#isOn(name));
  }

  find(name: string): Engine | undefined {
    return this.#isOn(name) ? this.#engines.get(name) : undefined;
  }

  /** Whether the server has an engine, even if it is switched off now. */
  isOffered(name: string): boolean {
    return this.#engines.has(name);
  }

  /** New settings may switch an engine off. */
  #isOn(name: string): boolean {
    return this.settingsOf(name).enabled !== false;
  }

  /** Also finds engines that are not offered, to read their agents' output. */
  known(name: string): Engine | undefined {
    return (
      this.#engines.get(name) ??
      this.#notOffered.find((other) => other.name === name)
    );
  }

  /** Finds the engine of a program by the program's name or path. */
  ofProgram(command: string): CliEngine | undefined {
    const names = [command, basename(command)];
    return [...this.all(), ...this.#notOffered]
      .filter((engine) => engine.kind === 'cli')
      .find((engine) => names.includes(engine.command));
  }

  /** The engine's index in `plugins`; undefined for a built-in engine. */
  placeOf(engine: Engine): number | undefined {
    return this.#plugins.get(engine);
  }

  /** Names that a caller may use, including engines offered on request. */
  nameable(): string[] {
    return [...this.all(), ...this.#notOffered]
      .map(({ name }) => name)
      .filter((name) => this.#isOn(name));
  }

  /** @throws HostError `unknown_engine` with the known names */
  get(name: string, names = this.all().map((one) => one.name)): Engine {
    const engine = this.find(name);
    if (engine) return engine;
    throw new HostError(
      'unknown_engine',
      `There is no engine "${name}".`,
      `${didYouMean(name, names)}Use one of: ${names.join(', ')}.`
    );
  }

  settingsOf(name: string): EngineSettings {
    return this.#settings[name] ?? {};
  }

  /** The program that an engine runs; the user's settings may change it. */
  commandOf(engine: CliEngine): string {
    return this.#programOf(engine).command ?? engine.command;
  }

  /** Arguments from the user's settings, which precede the engine's own. */
  argumentsBefore(engine: CliEngine): string[] {
    return this.#programOf(engine).args ?? [];
  }

  /** A copy with another program and with the arguments from the settings. */
  withProgram(engine: CliEngine, command: string): CliEngine {
    const userArgs = this.argumentsBefore(engine);
    return {
      ...engine,
      command,
      args: (request) => [...userArgs, ...engine.args(request)]
    };
  }

  /** An engine created for one agent ignores `command` and `args` settings. */
  #programOf(engine: CliEngine): EngineSettings {
    const isRegistered = this.known(engine.name) === engine;
    return isRegistered ? this.settingsOf(engine.name) : {};
  }

  /** The provider's model name, or undefined for the engine's own default. */
  modelOf(engine: Engine, wanted: string | undefined): string | undefined {
    const name =
      wanted ?? this.settingsOf(engine.name).model ?? engine.models?.default;
    if (name === undefined) return undefined;
    const { aliases = {}, retired = {} } = engine.models ?? {};
    if (Object.hasOwn(aliases, name)) return aliases[name];
    return Object.hasOwn(retired, name) ? retired[name] : name;
  }

  /** The time limit of a run in seconds. */
  timeoutOf(engine: Engine, prompt: string): number {
    const configured = this.settingsOf(engine.name).timeoutSeconds;
    if (configured !== undefined) return configured;
    const declared = engine.timeoutSeconds ?? 300;
    return typeof declared === 'function' ? declared(prompt) : declared;
  }

  /** Seconds without output until a run is stopped; 0 disables the limit. */
  idleTimeoutOf(engine: Engine): number {
    const configured = this.settingsOf(engine.name).idleTimeoutSeconds;
    if (configured !== undefined) return configured;
    return engine.kind === 'cli' ? (engine.idleTimeoutSeconds ?? 600) : 0;
  }

  /** Seconds for which a run may keep retrying; 0 disables the limit. */
  retryLimitOf(engine: Engine): number {
    if (engine.kind === 'api') return 0;
    const configured = this.settingsOf(engine.name).retrySeconds;
    return configured ?? engine.retrySeconds ?? 0;
  }
}

export function enforcementOf(engine: Engine, access: Access): Enforcement {
  if (engine.kind === 'api') return 'enforced';
  return engine.access?.[access] ?? 'asked';
}

export function labelOf(engine: Engine): string {
  return (
    engine.label ?? engine.name.charAt(0).toUpperCase() + engine.name.slice(1)
  );
}
