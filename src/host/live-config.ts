import { type Config, hasToolset } from '../config/config.ts';
import { valueAt } from '../config/overrides.ts';
import { checkSquadConfig } from '../config/squads.ts';
import { leftOutLine } from '../config/trust.ts';
import { raisedLimits } from '../config/widening.ts';
import { comesWith } from '../config/workspace-files.ts';
import type {
  EngineRegistry,
  PluginFault
} from '../core/engines/engine-registry.ts';
import { messageOf } from '../core/errors.ts';
import { collapseWhitespace, shortName, visibleText } from '../core/text.ts';
import type { ConfigSource } from './config-source.ts';
import { log } from './log.ts';

/** Settings that a server reads once, when it starts. */
const fixed = [
  'toolsets',
  'plugins',
  'rolesDirectory',
  'council',
  'orchestrator',
  'http',
  'onEnd',
  'iac',
  'journal',
  'retention',
  'squad.stateMode'
];

/** The message of a fault may quote the file. */
const faultChars = 400;

/**
 * Applies a changed configuration to a running host. It changes the host's own
 * `config` object, from which each spawn reads.
 */
export class LiveConfig {
  readonly #config: Config;
  readonly #registry: EngineRegistry;
  readonly #source: ConfigSource;
  /** What was left out at the start; stderr and the instructions name it. */
  readonly #leftOut: string[];
  readonly #startedAt = timeOf(new Date());
  #loadedAt = this.#startedAt;
  #work: Promise<void> | undefined;
  #notice: string | undefined;

  constructor(config: Config, registry: EngineRegistry, source: ConfigSource) {
    this.#config = config;
    this.#registry = registry;
    this.#source = source;
    this.#leftOut = config.trust.leftOut.map(({ setting }) => setting);
  }

  /** Why the files and the configuration in use differ, if they do. */
  get notice(): string | undefined {
    return this.#notice;
  }

  get faults(): PluginFault[] {
    return this.#notice === undefined
      ? []
      : [{ plugin: 'configuration', problem: this.#notice }];
  }

  /** Undefined if nothing has changed, which costs no promise and no open. */
  refresh(): Promise<void> | undefined {
    if (this.#work === undefined && this.#source.hasChanged())
      this.#work = this.#reload().finally(() => {
        this.#work = undefined;
      });
    return this.#work;
  }

  async #reload(): Promise<void> {
    let notice: string;
    try {
      const next = await this.#source.load();
      notice = this.#apply(next);
      this.#loadedAt = timeOf(new Date());
    } catch (error) {
      notice = `The server still uses the configuration of ${this.#loadedAt}; ${faultOf(error)}`;
    }
    if (notice !== '' && notice !== this.#notice) log(notice);
    this.#notice = notice || undefined;
  }

  /**
   * @returns the sentences about what does not count; empty if all of it does
   * @throws HostError `config_invalid`
   */
  #apply(next: Config): string {
    const { leftOut } = next.trust;
    const line = leftOutLine(next.trust);
    if (next.strict && line) throw new Error(`with --strict, ${line}`);
    const kept = this.#keepLimits(next);
    const later = this.#keepFixed(next);
    this.#configureEngines(next);
    Object.assign(this.#config, next);
    const isNew = leftOut.some(
      ({ setting }) => !this.#leftOut.includes(setting)
    );
    const sentences = [
      later.length > 0 &&
        `The server still uses the configuration of ${this.#startedAt} for ${later.join(', ')}; restart it for them.`,
      kept.length > 0 &&
        `The server still uses the configuration of ${this.#loadedAt} for ${kept.join(', ')}; while it runs, files of the workspace only lower limits. Restart it to raise them.`,
      isNew && `${line}.`
    ];
    return sentences.filter(Boolean).join(' ');
  }

  /** Keeps limits that files of the workspace raise without trust. */
  #keepLimits(next: Config): string[] {
    const { trust, workspace, file } = next;
    if (trust.isAll || (file && !comesWith(workspace, file))) return [];
    const granted = trust.asked.filter(({ isGranted }) => isGranted);
    const raised = raisedLimits(next, this.#config).filter(
      (name) => !granted.some(({ setting }) => setting === name)
    );
    for (const name of raised) this.#keep(name, next);
    return raised;
  }

  /** Keeps what counts after a restart only, and names what has changed. */
  #keepFixed(next: Config): string[] {
    const { trust, engines, onlyEngines } = next;
    const changed = fixed.filter(
      (name) => textAt(next, name) !== textAt(this.#config, name)
    );
    for (const name of changed) this.#keep(name, next);
    // Agents of the plugins that are kept load what was trusted with them.
    if (changed.includes('plugins')) this.#keep('trust.pinnedCode', next);
    const isNew = (name: string) =>
      engines[name]?.enabled !== false && !this.#registry.isOffered(name);
    const added = onlyEngines ? [] : Object.keys(engines).filter(isNew);
    return [
      ...changed.filter((name) =>
        trust.leftOut.every(({ setting }) => setting !== name)
      ),
      ...added.map((name) => `engines.${name}`)
    ];
  }

  #keep(name: string, next: Config): void {
    const [first = '', second] = name.split('.');
    const value = valueAt(this.#config, name.split('.'));
    const rest = Object(Reflect.get(next, first));
    Reflect.set(
      next,
      first,
      second === undefined ? value : { ...rest, [second]: value }
    );
  }

  /** @throws HostError `config_invalid` with which no squad could run */
  #configureEngines(next: Config): void {
    this.#registry.configure(next.engines);
    try {
      if (hasToolset(next, 'squad'))
        checkSquadConfig(next.workspace, next, this.#registry.all());
    } catch (error) {
      this.#registry.configure(this.#config.engines);
      throw error;
    }
  }
}

function faultOf(error: unknown): string {
  const text = messageOf(error)
    .replace(/^The configuration is not valid\. /, '')
    .replace(/^The /, 'the ');
  return shortName(collapseWhitespace(visibleText(text)), faultChars);
}

/** `01:18`, the time of the machine's own zone. */
function timeOf(date: Date): string {
  return date.toTimeString().slice(0, 5);
}

function textAt(config: Config, name: string): string | undefined {
  return JSON.stringify(valueAt(config, name.split('.')));
}
