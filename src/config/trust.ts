import { existsSync } from 'node:fs';
import { relative } from 'node:path';
import type { PluginFault } from '../core/engines/engine-registry.ts';
import { checkHomeOutside, troupeHome } from '../core/paths/troupe-home.ts';
import type { RoleDirectories } from '../core/squads/role-file.ts';
import type { TrustsRole } from '../core/squads/role-repository.ts';
import {
  areAmong,
  type Digests,
  digestOf,
  digestsOf
} from '../core/state/integrity/digests.ts';
import { timesOf } from '../host/wiring-times.ts';
import { isNowhere } from '../host/workspace-root.ts';
import { configDigests, type Found, isCode, readConfigFile } from './file.ts';
import { type Grant, Grants } from './grants.ts';
import { isObject } from './overrides.ts';
import { roleWidenings } from './role-widening.ts';
import { plainName, type Widening, wideningsIn } from './widening.ts';
import { comesWith, withNamed } from './workspace-files.ts';

/** The variable that grants every request of a workspace if it is `1`. */
export const trustVariable = 'TROUPE_TRUST';

/** A request of a workspace, and whether the user has granted its content. */
export interface Asked extends Widening {
  digests: Digests;
  isGranted: boolean;
}

/** The requests of a workspace, and which of them are granted. */
export interface Trust {
  /** True if a flag or a variable grants everything. */
  isAll: boolean;
  asked: Asked[];
  leftOut: Asked[];
  /** True if the user trusts the workspace with other content. */
  hasChanged: boolean;
  /** Granted code; its content is compared before it runs. */
  pinnedCode: Digests;
  /** Granted templates of squads, also compared before use. */
  pinnedTemplates: Digests;
  trustsRole: TrustsRole;
}

/** The trust of a process in which everything is granted. */
export const trustsAll: Trust = {
  isAll: true,
  asked: [],
  leftOut: [],
  hasChanged: false,
  pinnedCode: {},
  pinnedTemplates: {},
  trustsRole: () => true
};

/**
 * Reads the configuration of a workspace, and checks which parts of it the
 * user trusts.
 */
export class TrustCheck {
  readonly #workspace: string;
  readonly #environment: Record<string, string | undefined>;
  readonly #isAll: boolean;
  readonly #runsNothing: boolean;
  readonly #asked: Asked[] = [];
  #grants: Grants | undefined;
  #hasOwnRoles = false;

  /**
   * @param workspace its real path
   * @param isAll true if a flag or a variable grants everything
   * @param runsNothing true if no code of the workspace runs, even if trusted
   */
  constructor(
    workspace: string,
    environment: Record<string, string | undefined>,
    { isAll = false, runsNothing = false } = {}
  ) {
    this.#workspace = workspace;
    this.#environment = environment;
    this.#isAll = isAll;
    this.#runsNothing = runsNothing;
  }

  /**
   * @param asked the configuration file that the user names
   * @throws HostError `config_invalid`
   */
  async read(asked: string | undefined): Promise<Found> {
    const workspace = this.#workspace;
    const found = await readConfigFile(workspace, asked, (file) =>
      this.#mayRun(file, asked)
    );
    const { file, value } = found;
    if (file === undefined || this.#isAll || !this.#isForeign(file, asked))
      return found;
    // The settings of trusted code are trusted with it.
    if (isCode(file)) return found;
    const own = configDigests(found);
    for (const widening of wideningsIn(value, { workspace, file, timesOf }))
      this.#ask(widening, { ...own, ...digestsOf(widening.files) });
    return found;
  }

  async checkRoles(directories: RoleDirectories): Promise<void> {
    if (this.#isAll || !existsSync(directories.own)) return;
    // The user has named or granted a directory outside the workspace.
    this.#hasOwnRoles = !comesWith(this.#workspace, directories.own);
    if (this.#hasOwnRoles) return;
    for (const role of await roleWidenings(this.#workspace, directories))
      this.#ask(role, role.digests);
  }

  /** The configuration as written, without the settings that are left out. */
  narrowed(written: unknown): unknown {
    return this.#asked
      .filter(({ isGranted }) => !isGranted)
      .reduce(
        (value, { path }) => (path ? without(value, path) : value),
        written
      );
  }

  result(): Trust {
    if (this.#isAll) return trustsAll;
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
    if (this.#isAll) return true;
    if (!this.#isForeign(file, asked)) return !this.#runsNothing;
    const files = withNamed(file, this.#workspace);
    const setting = plainName(relative(this.#workspace, file));
    const allows = 'is code, which runs as a part of troupe';
    const isGranted = this.#ask({ setting, allows, files }, digestsOf(files));
    return isGranted && !this.#runsNothing;
  }

  /** Whether a file comes with the workspace: its author may be anyone. */
  #isForeign(file: string, asked: string | undefined): boolean {
    if (asked === undefined) return true;
    // Without a project, a named file can only be the user's own.
    return !isNowhere(this.#workspace) && comesWith(this.#workspace, file);
  }

  #ask(widening: Widening, digests: Digests): boolean {
    const isGranted = this.#isGranted(digests);
    this.#asked.push({ ...widening, digests, isGranted });
    return isGranted;
  }

  #isGranted(digests: Digests): boolean {
    return areAmong(digests, this.#granted()?.files ?? {});
  }

  /** Read each time, because the user may grant more at any time. */
  #granted(): Grant | undefined {
    this.#grants ??= grantsOf(this.#workspace, this.#environment);
    return this.#grants.of(this.#workspace);
  }
}

const why = 'left out until the user trusts this workspace: troupe trust';
const changed =
  'left out because it has changed since the user trusted this workspace: troupe trust';

export function leftOutFaults({ leftOut, hasChanged }: Trust): PluginFault[] {
  const problem = hasChanged ? changed : why;
  return leftOut.map(({ setting }) => ({ plugin: setting, problem }));
}

/** Settings that the line names; it only counts the others. */
const mostNamed = 12;

/** One line for stderr; undefined if nothing is left out. */
export function leftOutLine({
  leftOut,
  hasChanged
}: Trust): string | undefined {
  if (leftOut.length === 0) return undefined;
  const names = leftOut.slice(0, mostNamed).map(({ setting }) => setting);
  const rest = leftOut.length - names.length;
  const all = [...names, ...(rest > 0 ? [`${rest} more`] : [])].join(', ');
  const state = hasChanged
    ? 'has changed since you trusted it'
    : 'is not trusted';
  return `this workspace ${state}, so this is left out: ${all}. To see what it would allow, run: troupe trust`;
}

/** @throws HostError `config_invalid` if `~/.troupe` is in the workspace */
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
