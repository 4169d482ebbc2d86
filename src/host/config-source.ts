import { type Stats, statSync } from 'node:fs';
import { type Config, loadConfig } from '../config/config.ts';
import { configPlaces, isCode } from '../config/file.ts';
import type { Flags } from '../config/overrides.ts';
import { grantsOf } from '../config/trust.ts';
import { HostError } from '../core/errors.ts';
import { workspaceOf } from './workspace-root.ts';

/** Loads the configuration of one server, and notices when it changes. */
export class ConfigSource {
  readonly #flags: Flags;
  readonly #adjust: (config: Config) => Config;
  /** Files of code that have run, with their stamps. */
  readonly #ran = new Map<string, string>();
  /** Every file that may decide about the configuration. */
  #files: string[] | undefined;
  #stamps = '';

  /** @param adjust sets configuration that has no flag */
  constructor(
    flags: Flags,
    adjust: (config: Config) => Config = (config) => config
  ) {
    this.#flags = flags;
    this.#adjust = adjust;
  }

  /** @throws HostError `config_invalid` */
  async load(): Promise<Config> {
    this.#files ??= filesOf(this.#flags);
    // Before the files are read, so that a later change is noticed.
    this.#stamps = stampsOf(this.#files);
    const config = this.#adjust(await loadConfig(this.#flags));
    const { file } = config;
    if (file !== undefined && isCode(file)) this.#checkCode(file);
    return config;
  }

  /** Compares the files by `stat` alone: each spawn asks. */
  hasChanged(): boolean {
    return stampsOf(this.#files ?? []) !== this.#stamps;
  }

  /** Node runs a module once per process. */
  #checkCode(file: string): void {
    const stamp = stampOf(file);
    const ran = this.#ran.get(file) ?? stamp;
    this.#ran.set(file, ran);
    if (ran !== stamp)
      throw new HostError(
        'config_invalid',
        `${file} is code: a change counts after a restart.`,
        'Restart the server.'
      );
  }
}

function filesOf(flags: Flags): string[] {
  const workspace = workspaceOf(flags, process.env);
  return [
    ...configPlaces(workspace, flags.config),
    // Its name would need a hash, which takes 4 ms at each start.
    grantsOf(workspace, process.env).directory
  ];
}

function stampsOf(files: string[]): string {
  return files.map(stampOf).join(' ');
}

function stampOf(file: string): string {
  const stats = statsOf(file);
  if (stats === undefined) return '-';
  const { dev, ino, size, mtimeMs, ctimeMs } = stats;
  return [dev, ino, size, mtimeMs, ctimeMs].join(':');
}

/** Undefined for a file that cannot be reached. */
function statsOf(file: string): Stats | undefined {
  try {
    return statSync(file, { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}
