import { statSync } from 'node:fs';
import { join } from 'node:path';
import type { ApiEngine, Engine, Failure } from '../../plugin.ts';
import { messageOf } from '../errors.ts';
import { leadsOut } from '../runs/containment.ts';
import { readIfThere } from '../state/atomic-file.ts';
import { isPlaceholder } from './placeholder.ts';

export const keyFileName = 'api_keys.json';

export interface ApiKey {
  /** The name it was found under. */
  name: string;
  value: string;
  /** `environment`, or the path of the file. */
  from: string;
}

interface ApiKeysOptions {
  /** Where `api_keys.json` may lie; the first that has a name wins. */
  directories: string[];
  /** Told once for each thing that is wrong. */
  onProblem: (problem: string) => void;
  environment?: Record<string, string | undefined>;
}

/**
 * The keys of API engines: `api_keys.json` before the environment, each in
 * the order of an engine's names. The file is read anew at every look, so a
 * key that was just put there counts at once. Values are for the engine's own
 * process and for the redactor, nothing else.
 */
export class ApiKeys {
  readonly #with: ApiKeysOptions;
  readonly #environment: Record<string, string | undefined>;
  readonly #told = new Set<string>();
  /** Also keys that were taken out again: what was printed may hold them. */
  readonly #seen = new Set<string>();
  #names: string[] = [];

  constructor(options: ApiKeysOptions) {
    this.#with = options;
    this.#environment = options.environment ?? process.env;
  }

  /** The key an engine would be given now. */
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

  /** True when an engine could be asked: it has a key, or needs none. */
  isReady(engine: ApiEngine): boolean {
    return this.faultOf(engine, engine.name) === undefined;
  }

  /** Why an engine cannot be asked, if so. */
  faultOf(engine: ApiEngine, label: string): Failure | undefined {
    if (engine.keyNames.length === 0) return undefined;
    const key = this.find(engine);
    if (!key)
      return { code: 'not_logged_in', message: missingKey(engine, label) };
    if (!unsendable.test(key.value)) return undefined;
    return {
      code: 'auth',
      message: `${label} cannot be sent the key ${key.name} (${key.from}): it holds a character that no key has, such as a line break or a typographic quotation mark. Put it there again.`
    };
  }

  /** Names to keep out of every log, also of engines that are not offered. */
  remember(engines: Engine[]): void {
    this.#names = engines.flatMap((engine) =>
      engine.kind === 'api' ? engine.keyNames : []
    );
  }

  /** A secret that no engine has, to keep out of every log too. */
  hide(secret: string): void {
    this.#seen.add(secret);
  }

  /** Every value there is or was, for the redactor. */
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
    const { directories } = this.#with;
    return [...new Set(directories)].map((path) => join(path, keyFileName));
  }

  #read(file: string): Map<string, string> {
    const keys = new Map<string, string>();
    try {
      const text = readIfThere(file);
      if (text === undefined) return keys;
      this.#checkPlace(file);
      this.#checkMode(file);
      for (const [name, value] of entriesOf(text)) {
        const key = typeof value === 'string' ? value.trim() : '';
        if (typeof value !== 'string')
          this.#tell(`${file}: the value of "${name}" is no text; left out.`);
        if (key !== '' && !isPlaceholder(key)) keys.set(name, key);
      }
    } catch (error) {
      const reason = messageOf(error);
      this.#tell(
        `${file} cannot be read, so its keys are missing: ${reason}. It holds one JSON object of names and keys, like api_keys.example.json.`
      );
    }
    for (const key of keys.values()) this.#seen.add(key);
    return keys;
  }

  /**
   * A clone may hold a link to any file of the user's, whose texts would then
   * be sent as keys. A link to a place where keys may lie is followed.
   */
  #checkPlace(file: string): void {
    const { directories } = this.#with;
    if (directories.some((path) => !leadsOut(path, file))) return;
    throw new Error('it is a link that leads outside the workspace');
  }

  #checkMode(file: string): void {
    if (process.platform === 'win32') return;
    const mode = statSync(file).mode & 0o777;
    if ((mode & 0o077) !== 0)
      this.#tell(
        `${file} can be read by others (mode ${mode.toString(8)}). Run: chmod 600 ${JSON.stringify(file)}`
      );
  }

  #tell(problem: string): void {
    if (this.#told.has(problem)) return;
    this.#told.add(problem);
    this.#with.onProblem(problem);
  }
}

/** What no HTTP header can hold. */
const unsendable = /[^\t\x20-\x7e\x80-\xff]/;

/** @throws Error that never quotes the text, which holds keys */
function entriesOf(text: string): [string, unknown][] {
  let value: unknown;
  try {
    // Editors on Windows put a mark in front.
    value = JSON.parse(text.replace(/^\uFEFF/, ''));
  } catch {
    throw new Error('it is not valid JSON');
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value))
    return Object.entries(value);
  throw new Error('it is no JSON object');
}

/** Names that were looked for, and where to get a key. */
export function missingKey(engine: ApiEngine, label: string): string {
  const names = engine.keyNames.join(', ');
  const absent =
    engine.keyNames.length > 1 ? `none of ${names} is` : `${names} is not`;
  const where = engine.keyUrl ? ` Get one at ${engine.keyUrl}.` : '';
  return `${label} has no key: ${absent} in ${keyFileName} or in the environment.${where}`;
}
