import { relative } from 'node:path';
import {
  configDigests,
  type Found,
  isCode,
  readConfigFile
} from '../config-file.ts';
import { isObject } from '../config-overrides.ts';
import { checkHomeOutside, troupeHome } from '../core/paths/troupe-home.ts';
import type { RoleDirectories } from '../core/squads/role-places.ts';
import type { TrustsRole } from '../core/squads/role-repository.ts';
import {
  areAmong,
  type Digests,
  digestOf,
  digestsOf
} from '../core/state/digests.ts';
import { plainName, type Widening } from './asked.ts';
import type { TimesOf } from './engine-widening.ts';
import { type Grant, Grants } from './grants.ts';
import { withNamed } from './named-files.ts';
import { comesWith } from './places.ts';

/** Set to `1`, everything that a workspace asks for counts. */
export const trustVariable = 'TROUPE_TRUST';

/** What a workspace asks for, and whether the user has granted just that. */
export interface Asked extends Widening {
  digests: Digests;
  isGranted: boolean;
}

/** What counts of what a workspace asks for. */
export interface Trust {
  /** Everything counts, by a flag or a variable. */
  isAll: boolean;
  asked: Asked[];
  leftOut: Asked[];
  /** The user trusts the workspace, with other content. */
  hasChanged: boolean;
  /** Code that was granted by its content: it is compared before it runs. */
  pinnedCode: Digests;
  /** The same, of the templates of squads. */
  pinnedTemplates: Digests;
  trustsRole: TrustsRole;
}

/** Of a process in which everything counts. */
export const trustsAll: Trust = {
  isAll: true,
  asked: [],
  leftOut: [],
  hasChanged: false,
  pinnedCode: {},
  pinnedTemplates: {},
  trustsRole: () => true
};

export interface TrustSettings {
  /** Its real path. */
  workspace: string;
  environment: Record<string, string | undefined>;
  /** Everything counts, by a flag or a variable. */
  isAll: boolean;
  /** The file that a person names is the person's own, wherever it lies. */
  isOwnFile: () => boolean;
  timesOf: TimesOf;
  /** No code of the workspace runs, trusted or not. */
  runsNothing?: boolean;
}

/**
 * Reads the configuration of a workspace, and finds out what of it the user
 * trusts. A workspace that asks for nothing costs one look at a directory.
 */
export class TrustCheck {
  readonly #with: TrustSettings;
  readonly #asked: Asked[] = [];
  #grants: Grants | undefined;
  #hasOwnRoles = false;

  constructor(settings: TrustSettings) {
    this.#with = settings;
  }

  /**
   * @param asked the file that a person names
   * @throws HostError `config_invalid`
   */
  async read(asked: string | undefined): Promise<Found> {
    const { workspace, isAll, timesOf } = this.#with;
    const found = await readConfigFile(workspace, asked, (file) =>
      this.#mayRun(file, asked)
    );
    const { file, value } = found;
    if (file === undefined || isAll || !this.#isForeign(file, asked))
      return found;
    // What trusted code asks for is trusted with it.
    if (isCode(file)) return found;
    const { wideningsIn } = await import('./widening.ts');
    const own = configDigests(found);
    const around = { workspace, file, timesOf };
    for (const widening of wideningsIn(value, around))
      this.#ask(widening, { ...own, ...digestsOf(widening.files) });
    return found;
  }

  /** The roles are the user's own. */
  trustRoles(): void {
    this.#hasOwnRoles = true;
  }

  async lookAtRoles(directories: RoleDirectories): Promise<void> {
    const { workspace, isAll } = this.#with;
    if (isAll) return;
    const { roleWidenings } = await import('./role-widening.ts');
    for (const role of await roleWidenings(workspace, directories))
      this.#ask(role, role.digests);
  }

  /** What is written without that which is left out. */
  narrowed(written: unknown): unknown {
    return this.#asked
      .filter(({ isGranted }) => !isGranted)
      .reduce(
        (value, { path }) => (path ? without(value, path) : value),
        written
      );
  }

  result(): Trust {
    if (this.#with.isAll) return trustsAll;
    const asked = this.#asked;
    const leftOut = asked.filter(({ isGranted }) => !isGranted);
    const pinned = (...settings: string[]) =>
      Object.assign(
        {},
        ...asked.flatMap(({ setting, isGranted, path, digests }) =>
          isGranted && (path === undefined || settings.includes(setting))
            ? [digests]
            : []
        )
      );
    return {
      isAll: false,
      asked,
      leftOut,
      hasChanged: leftOut.length > 0 && this.#granted() !== undefined,
      pinnedCode: pinned('plugins'),
      pinnedTemplates: pinned(
        'squad.runTemplatePath',
        'squad.createChatTemplatePath'
      ),
      trustsRole: (path, text) =>
        this.#hasOwnRoles || this.#isGranted({ [path]: digestOf(text) })
    };
  }

  #mayRun(file: string, asked: string | undefined): boolean {
    const { workspace, isAll, runsNothing = false } = this.#with;
    if (isAll) return true;
    if (!this.#isForeign(file, asked)) return !runsNothing;
    const files = withNamed(file, workspace);
    const setting = plainName(relative(workspace, file));
    const allows = 'is code, which runs as a part of troupe';
    const isGranted = this.#ask({ setting, allows, files }, digestsOf(files));
    return isGranted && !runsNothing;
  }

  /** Whether a file comes with the workspace, so that anybody wrote it. */
  #isForeign(file: string, asked: string | undefined): boolean {
    const { workspace, isOwnFile } = this.#with;
    if (asked === undefined) return true;
    return !isOwnFile() && comesWith(workspace, file);
  }

  #ask(widening: Widening, digests: Digests): boolean {
    const isGranted = this.#isGranted(digests);
    this.#asked.push({ ...widening, digests, isGranted });
    return isGranted;
  }

  #isGranted(digests: Digests): boolean {
    return areAmong(digests, this.#granted()?.files ?? {});
  }

  /** Read each time: the user may grant it while a server lives. */
  #granted(): Grant | undefined {
    const { workspace, environment } = this.#with;
    this.#grants ??= grantsOf(workspace, environment);
    return this.#grants.of(workspace);
  }
}

/** @throws HostError `config_invalid` when they would lie in the workspace */
export function grantsOf(
  workspace: string,
  environment: Record<string, string | undefined>
): Grants {
  const home = troupeHome(environment);
  checkHomeOutside(workspace, home, environment);
  return new Grants(home);
}

function without(value: unknown, [first = '', ...rest]: string[]): unknown {
  if (!isObject(value) || !Object.hasOwn(value, first)) return value;
  const { [first]: inner, ...others } = value;
  return rest.length === 0
    ? others
    : { ...others, [first]: without(inner, rest) };
}
