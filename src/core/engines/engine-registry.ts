import { basename } from 'node:path';
import type { Access, CliEngine, Enforcement, Engine } from '../../plugin.ts';
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

/** A plugin that was asked for and could not be taken. */
export interface PluginFault {
  plugin: string;
  problem: string;
}

/** The engines of this host, by name, each with the user's settings. */
export class EngineRegistry {
  readonly #engines = new Map<string, Engine>();
  readonly #settings: Record<string, EngineSettings>;
  readonly faults: PluginFault[];
  readonly #others: Engine[];
  readonly #plugins: Map<Engine, number>;

  /**
   * @param others not offered here, but perhaps by another server
   * @param plugins where in the configuration's `plugins` an engine stands
   */
  constructor(
    engines: Engine[],
    settings: Record<string, EngineSettings>,
    faults: PluginFault[] = [],
    others: Engine[] = [],
    plugins = new Map<Engine, number>()
  ) {
    for (const engine of engines) this.#engines.set(engine.name, engine);
    this.#settings = settings;
    this.faults = faults;
    this.#others = others;
    this.#plugins = plugins;
  }

  /** In the order they were registered. */
  all(): Engine[] {
    return [...this.#engines.values()];
  }

  find(name: string): Engine | undefined {
    return this.#engines.get(name);
  }

  /** Also an engine that is not offered: its agents have to be read. */
  known(name: string): Engine | undefined {
    return this.find(name) ?? this.#others.find((other) => other.name === name);
  }

  /** The engine that runs a program, by its name or path. */
  ofProgram(command: string): CliEngine | undefined {
    const names = [command, basename(command)];
    return [...this.all(), ...this.#others]
      .filter((engine) => engine.kind === 'cli')
      .find((engine) => names.includes(engine.command));
  }

  /** Its place in the configuration's `plugins`; undefined when built in. */
  placeOf(engine: Engine): number | undefined {
    return this.#plugins.get(engine);
  }

  /** Also those that are offered only when they are named. */
  nameable(): string[] {
    return [...this.all(), ...this.#others]
      .map(({ name }) => name)
      .filter((name) => this.settingsOf(name).enabled !== false);
  }

  /** @throws HostError `unknown_engine` with the names there are. */
  get(name: string, names = [...this.#engines.keys()]): Engine {
    const engine = this.#engines.get(name);
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

  /** The program an engine runs, after the user's settings. */
  commandOf(engine: CliEngine): string {
    return this.#programOf(engine).command ?? engine.command;
  }

  /** What the user's settings put before an engine's own arguments. */
  argumentsBefore(engine: CliEngine): string[] {
    return this.#programOf(engine).args ?? [];
  }

  /** The engine with another program, and what settings put before its arguments. */
  withProgram(engine: CliEngine, command: string): CliEngine {
    const before = this.argumentsBefore(engine);
    return {
      ...engine,
      command,
      args: (request) => [...before, ...engine.args(request)]
    };
  }

  /** One that was made for an agent has its program and arguments already. */
  #programOf(engine: CliEngine): EngineSettings {
    const isRegistered = this.known(engine.name) === engine;
    return isRegistered ? this.settingsOf(engine.name) : {};
  }

  /** The provider's model name, or undefined for the engine's own default. */
  modelOf(engine: Engine, asked: string | undefined): string | undefined {
    const name =
      asked ?? this.settingsOf(engine.name).model ?? engine.models?.default;
    if (name === undefined) return undefined;
    const { aliases = {}, retired = {} } = engine.models ?? {};
    if (Object.hasOwn(aliases, name)) return aliases[name];
    return Object.hasOwn(retired, name) ? retired[name] : name;
  }

  /** Seconds until a run is stopped. */
  timeoutOf(engine: Engine, prompt: string): number {
    const configured = this.settingsOf(engine.name).timeoutSeconds;
    if (configured !== undefined) return configured;
    const declared = engine.timeoutSeconds ?? 300;
    return typeof declared === 'function' ? declared(prompt) : declared;
  }

  /** Seconds without output until a run is stopped; 0 for never. */
  idleTimeoutOf(engine: Engine): number {
    const configured = this.settingsOf(engine.name).idleTimeoutSeconds;
    if (configured !== undefined) return configured;
    return engine.kind === 'cli' ? (engine.idleTimeoutSeconds ?? 600) : 0;
  }

  /** Seconds that a run may do nothing but fail; 0 for as long as it wants. */
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

/** `x-y` → `spawn_x_y`. */
export function toolNameOf(engine: Engine): string {
  return `spawn_${engine.name.replaceAll('-', '_')}`;
}
