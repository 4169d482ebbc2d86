import { delimiter, isAbsolute } from 'node:path';
import type {
  CliEngine,
  EngineRequest,
  OwnConfiguration
} from '../../plugin/plugin.ts';
import { readIfExists } from '../state/files/atomic-file.ts';
import { catchEngineFault } from './failures.ts';

/**
 * Variables that any program may need. None of them identifies the session
 * that started troupe. TROUPE_HOME makes a troupe that an agent starts use the
 * same records.
 */
const allowed = `
  HOME TROUPE_HOME PATH USER LOGNAME SHELL HOSTNAME
  LANG LANGUAGE LC_* TZ TERM COLORTERM TMPDIR TMP TEMP XDG_*
  HTTP_PROXY HTTPS_PROXY NO_PROXY ALL_PROXY
  http_proxy https_proxy no_proxy all_proxy
  NODE_EXTRA_CA_CERTS SSL_CERT_FILE SSL_CERT_DIR
  SSH_AUTH_SOCK GIT_SSH GIT_SSH_COMMAND GIT_AUTHOR_* GIT_COMMITTER_*
  JAVA_HOME GOPATH GOROOT CARGO_HOME RUSTUP_HOME PYENV_* VIRTUAL_ENV
  NVM_* VOLTA_HOME ASDF_* MISE_* PNPM_HOME
  SystemRoot SYSTEMROOT COMSPEC PATHEXT APPDATA LOCALAPPDATA USERPROFILE
  USERNAME PROGRAMFILES PROGRAMDATA HOMEDRIVE HOMEPATH
`
  .trim()
  .split(/\s+/);

/** Variables in addition to the allow-list and the engine's own. */
export interface Additions {
  /** `engines.<name>.env`. */
  env?: Record<string, string> | undefined;
  /** `engines.<name>.passEnv`. */
  passEnv?: string[] | undefined;
  /** Added by a caller for one worker; they do not enable `keepIf` groups. */
  asked?: Record<string, string> | undefined;
}

type Variables = Record<string, string | undefined>;

/**
 * A child's environment: the allow-list, the engine's own variables, the
 * additions, and the `TROUPE_*` variables of the agent. All other variables are
 * withheld. Relative entries of PATH are removed, because `#!/usr/bin/env node`
 * would resolve them in the project.
 */
export function childEnvironment(
  { env }: Pick<CliEngine, 'env'>,
  request: EngineRequest,
  record: { agent_id: string; depth: number },
  directory: string,
  additions: Additions = {},
  from: Variables = process.env
): Record<string, string> {
  return withAbsolutePath({
    ...inheritedVariables(env, additions, from),
    ...env?.set?.(request),
    ...additions.env,
    ...additions.asked,
    TROUPE_AGENT_ID: record.agent_id,
    TROUPE_AGENT_DIR: directory,
    TROUPE_DEPTH: String(record.depth)
  });
}

/** The host's own variables that an engine's program inherits. */
export function inheritedVariables(
  env: CliEngine['env'] = {},
  { env: configured = {}, passEnv = [] }: Additions = {},
  from: Variables = process.env
): Record<string, string> {
  const kept = keepFilter(env, { ...from, ...configured });
  const named = namedBy(env, { ...from, ...configured });
  const environment: Record<string, string> = {};
  for (const [name, value] of Object.entries(from)) {
    if (value === undefined) continue;
    const isKept = passEnv.includes(name) || matches(name, named) || kept(name);
    const isAllowed = matches(name, allowed) && !matches(name, env.drop ?? []);
    if (isAllowed || (isKept && !isPlaceholder(value)))
      environment[name] = value;
  }
  return environment;
}

/** Where an engine reads the user's own configuration of its program. */
export function ownConfiguration(environment: Variables): OwnConfiguration {
  const read = (path: string) => {
    try {
      return readIfExists(path);
    } catch {
      return undefined;
    }
  };
  return { environment, read };
}

/** The names that the user's own configuration of the program names. */
export function namedBy(
  { named, drop = [] }: NonNullable<CliEngine['env']>,
  variables: Variables
): string[] {
  const own = ownConfiguration(variables);
  const names = catchEngineFault(
    () => named?.(own) ?? [],
    () => []
  );
  return names.filter(
    (name) => !name.startsWith('TROUPE_') && !matches(name, drop)
  );
}

function keepFilter(
  { keep = [], keepIf = {}, drop = [] }: NonNullable<CliEngine['env']>,
  variables: Variables
): (name: string) => boolean {
  const conditional = Object.values(keepIf).flat();
  const enabled = Object.entries(keepIf)
    .filter(([name]) => isOn(variables[name]))
    .flatMap(([name, patterns]) => [name, ...patterns]);
  return (name) => {
    if (matches(name, drop)) return false;
    if (keep.includes(name) || matches(name, enabled)) return true;
    return matches(name, keep) && !matches(name, conditional);
  };
}

/** Accepts no value that the programs themselves would treat as off. */
function isOn(value: string | undefined): boolean {
  return /^(1|true|yes|on)$/i.test(value ?? '');
}

/** A pattern is a name, or a prefix followed by `*`. */
function matches(name: string, patterns: string[]): boolean {
  return patterns.some((pattern) =>
    pattern.endsWith('*')
      ? name.startsWith(pattern.slice(0, -1))
      : name === pattern
  );
}

/**
 * True for `$NAME` and `${NAME}`, which some clients pass on unexpanded. Such a
 * value is neither a usable value nor a secret.
 */
export function isPlaceholder(value: string): boolean {
  return /^\s*\$(\w+|\{.*\})\s*$/.test(value);
}

/**
 * Removes empty and relative entries from PATH. They resolve in the working
 * directory, which is an untrusted project. Without any absolute entry the
 * result is `/usr/bin:/bin`, except on Windows, because an empty PATH also
 * means the working directory.
 */
export function absolutePath(path: string): string {
  const kept = path.split(delimiter).filter((entry) => isAbsolute(entry));
  return kept.length > 0 || process.platform === 'win32'
    ? kept.join(delimiter)
    : '/usr/bin:/bin';
}

/** Applies `absolutePath` to PATH, whose name has any case on Windows. */
export function withAbsolutePath<Value extends string | undefined>(
  environment: Record<string, Value>
): Record<string, Value | string> {
  const name = Object.keys(environment).find((key) =>
    process.platform === 'win32' ? /^path$/i.test(key) : key === 'PATH'
  );
  const path = name === undefined ? undefined : environment[name];
  return name === undefined || path === undefined
    ? environment
    : { ...environment, [name]: absolutePath(path) };
}
