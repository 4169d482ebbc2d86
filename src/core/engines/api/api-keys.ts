import { statSync } from 'node:fs';
import { join } from 'node:path';
import type { ApiEngine, Engine, Failure } from '../../../plugin/plugin.ts';
import { messageOf } from '../../errors.ts';
import { leadsOut } from '../../runs/admission/containment.ts';
import { readIfExists } from '../../state/files/atomic-file.ts';
import type { EngineRegistry } from '../engine-registry.ts';
import { isPlaceholder } from '../environment.ts';

export const keyFileName = 'api_keys.json';

interface ApiKey {
  /** The variable name under which the key was found. */
  name: string;
  value: string;
  /** `environment`, or the path of the file. */
  from: string;
}

interface ApiKeysOptions {
  /** Directories with an `api_keys.json`, in order of precedence. */
  directories: string[];
  /** Called once for each distinct problem. */
  onProblem: (problem: string) => void;
  environment?: Record<string, string | undefined>;
}

/**
 * The keys of API engines. `api_keys.json` takes precedence over the
 * environment; in each, the engine's key names are tried in order. Every call
 * reads the files again, so a new key takes effect at once. Only the engine's
 * own process and the redactor receive the values.
 */
export class ApiKeys {
  readonly #options: ApiKeysOptions;
  readonly #environment: Record<string, string | undefined>;
  readonly #reported = new Set<string>();
  /** All values seen so far: output may contain a key that was removed. */
  readonly #seen = new Set<string>();
  #names: string[] = [];

  constructor(options: ApiKeysOptions) {
    this.#options = options;
    this.#environment = options.environment ?? process.env;
  }

  find({ keyNames }: Pick<ApiEngine, 'keyNames'>): ApiKey | undefined {
    for (const file of this.#files()) {
      const keys = this.#read(file);
      for (const name of keyNames) {
        const value = keys.get(name);
        if (value !== undefined) return { name, value, from: file };
      }
    }
    for (const name of keyNames) {
      const value = this.#inEnvironment(name);
      if (value) return { name, value, from: 'environment' };
    }
    return undefined;
  }

  /** Whether an engine has a usable key, or needs none. */
  isReady(engine: ApiEngine): boolean {
    return this.faultOf(engine, engine.name) === undefined;
  }

  /** The failure of an engine without a usable key; otherwise undefined. */
  faultOf(engine: ApiEngine, label: string): Failure | undefined {
    if (engine.keyNames.length === 0) return undefined;
    const key = this.find(engine);
    if (!key)
      return { code: 'not_logged_in', message: missingKey(engine, label) };
    if (!unsendable.test(key.value)) return undefined;
    return {
      code: 'auth',
      message: `${label} cannot be sent the key ${key.name} (${key.from}): it contains a character that keys never have, such as a line break or a typographic quotation mark. Enter it again.`
    };
  }

  /** Redacts the environment keys of these engines, offered or not. */
  remember(engines: Engine[]): void {
    this.#names = engines.flatMap((engine) =>
      engine.kind === 'api' ? engine.keyNames : []
    );
  }

  /** Redacts a secret that belongs to no engine. */
  hide(secret: string): void {
    this.#seen.add(secret);
  }

  /** All current and earlier values, for the redactor. */
  secrets(): string[] {
    for (const file of this.#files()) this.#read(file);
    for (const name of this.#names) {
      const value = this.#inEnvironment(name);
      if (value) this.#seen.add(value);
    }
    return [...this.#seen];
  }

  #inEnvironment(name: string): string | undefined {
    const value = this.#environment[name]?.trim();
    return value && !isPlaceholder(value) ? value : undefined;
  }

  #files(): string[] {
    const { directories } = this.#options;
    return [...new Set(directories)].map((path) => join(path, keyFileName));
  }

  #read(file: string): Map<string, string> {
    const keys = new Map<string, string>();
    try {
      const text = readIfExists(file);
      if (text === undefined) return keys;
      this.#checkLink(file);
      this.#checkMode(file);
      for (const [name, value] of entriesOf(text)) {
        const key = typeof value === 'string' ? value.trim() : '';
        if (typeof value !== 'string')
          this.#report(
            `${file}: the value of "${name}" is not text; left out.`
          );
        if (key !== '' && !isPlaceholder(key)) keys.set(name, key);
      }
    } catch (error) {
      const reason = messageOf(error);
      this.#report(
        `${file} cannot be read, so its keys are missing: ${reason}. It holds one JSON object of names and keys, like api_keys.example.json.`
      );
    }
    for (const key of keys.values()) this.#seen.add(key);
    return keys;
  }

  /**
   * Rejects a link that leads outside the directories. A cloned project may
   * link to any file of the user, and its content would be sent as a key.
   */
  #checkLink(file: string): void {
    const { directories } = this.#options;
    if (directories.some((path) => !leadsOut(path, file))) return;
    throw new Error('it is a link that leads outside the workspace');
  }

  #checkMode(file: string): void {
    if (process.platform === 'win32') return;
    const mode = statSync(file).mode & 0o777;
    if ((mode & 0o077) !== 0)
      this.#report(
        `${file} can be read by others (mode ${mode.toString(8)}). Run: chmod 600 ${JSON.stringify(file)}`
      );
  }

  #report(problem: string): void {
    if (this.#reported.has(problem)) return;
    this.#reported.add(problem);
    this.#options.onProblem(problem);
  }
}

/** Characters that an HTTP header cannot hold. */
const unsendable = /[^\t\x20-\x7e\x80-\xff]/;

/** @throws Error that does not quote the text, because it contains keys */
function entriesOf(text: string): [string, unknown][] {
  let value: unknown;
  try {
    // Editors on Windows write a byte order mark.
    value = JSON.parse(text.replace(/^\uFEFF/, ''));
  } catch {
    throw new Error('it is not valid JSON');
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value))
    return Object.entries(value);
  throw new Error('it is not a JSON object');
}

/** The message for an engine without a key: its key names and `keyUrl`. */
export function missingKey(engine: ApiEngine, label: string): string {
  const names = engine.keyNames.join(', ');
  const absent =
    engine.keyNames.length > 1 ? `none of ${names} is` : `${names} is not`;
  const where = engine.keyUrl ? ` Get one at ${engine.keyUrl}.` : '';
  return `${label} has no key: ${absent} in ${keyFileName} or in the environment.${where}`;
}

/** Engines whose program is installed or whose key is set. */
export function readyEngineNames(
  registry: EngineRegistry,
  processes: { locate(command: string): string | undefined },
  keys: ApiKeys
): string[] {
  return registry
    .all()
    .filter((engine) =>
      engine.kind === 'api'
        ? keys.isReady(engine)
        : processes.locate(registry.commandOf(engine))
    )
    .map((engine) => engine.name);
}
