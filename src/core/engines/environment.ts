import type { CliEngine, EngineRequest } from '../../plugin.ts';
import type { RunRecord } from '../runs/run.ts';
import { isPlaceholder } from './placeholder.ts';
import { withAbsolutePath } from './search-path.ts';

/** What any program needs; nothing that identifies the session we run in. */
const allowed = [
  'HOME',
  // What an agent starts of troupe has the same records.
  'TROUPE_HOME',
  'PATH',
  'USER',
  'LOGNAME',
  'SHELL',
  'LANG',
  'LANGUAGE',
  'LC_*',
  'TZ',
  'TERM',
  'COLORTERM',
  'TMPDIR',
  'TMP',
  'TEMP',
  'XDG_*',
  'HOSTNAME',
  'HTTP_PROXY',
  'HTTPS_PROXY',
  'NO_PROXY',
  'ALL_PROXY',
  'http_proxy',
  'https_proxy',
  'no_proxy',
  'all_proxy',
  'NODE_EXTRA_CA_CERTS',
  'SSL_CERT_FILE',
  'SSL_CERT_DIR',
  'SSH_AUTH_SOCK',
  'GIT_SSH',
  'GIT_SSH_COMMAND',
  'GIT_AUTHOR_*',
  'GIT_COMMITTER_*',
  'JAVA_HOME',
  'GOPATH',
  'GOROOT',
  'CARGO_HOME',
  'RUSTUP_HOME',
  'PYENV_*',
  'VIRTUAL_ENV',
  'NVM_*',
  'VOLTA_HOME',
  'ASDF_*',
  'MISE_*',
  'PNPM_HOME',
  'SystemRoot',
  'SYSTEMROOT',
  'COMSPEC',
  'PATHEXT',
  'APPDATA',
  'LOCALAPPDATA',
  'USERPROFILE',
  'USERNAME',
  'PROGRAMFILES',
  'PROGRAMDATA',
  'HOMEDRIVE',
  'HOMEPATH'
];

/** What the user's settings add for an engine. */
export interface Additions {
  /** `engines.<name>.env`. */
  env?: Record<string, string> | undefined;
  /** `engines.<name>.passEnv`. */
  passEnv?: string[] | undefined;
  /** What a caller adds for one worker. It turns no switch on. */
  asked?: Record<string, string> | undefined;
}

type Variables = Record<string, string | undefined>;

/**
 * A child's environment: the allow-list, the engine's own names, what the
 * user's settings add, and our marks. Everything else stays here. A program
 * with `#!/usr/bin/env node` looks for node on this PATH, in the project.
 */
export function childEnvironment(
  { env }: Pick<CliEngine, 'env'>,
  request: EngineRequest,
  record: Pick<RunRecord, 'agent_id' | 'depth'>,
  directory: string,
  additions: Additions = {},
  from: Variables = process.env
): Record<string, string> {
  return withAbsolutePath({
    ...handedOn(env, additions, from),
    ...env?.set?.(request),
    ...additions.env,
    ...additions.asked,
    TROUPE_AGENT_ID: record.agent_id,
    TROUPE_AGENT_DIR: directory,
    TROUPE_DEPTH: String(record.depth)
  });
}

/** Of the host's own variables, what an engine's program gets. */
export function handedOn(
  env: CliEngine['env'] = {},
  { env: configured = {}, passEnv = [] }: Additions = {},
  from: Variables = process.env
): Record<string, string> {
  const kept = keeper(env, { ...from, ...configured });
  const environment: Record<string, string> = {};
  for (const [name, value] of Object.entries(from)) {
    if (value === undefined) continue;
    const isKept = passEnv.includes(name) || kept(name);
    const isAllowed = matches(name, allowed) && !matches(name, env.drop ?? []);
    if (isAllowed || (isKept && !isPlaceholder(value)))
      environment[name] = value;
  }
  return environment;
}

/** Whether an engine keeps a variable, as its switches are set. */
function keeper(
  { keep = [], keepIf = {}, drop = [] }: NonNullable<CliEngine['env']>,
  variables: Variables
): (name: string) => boolean {
  const switched = Object.values(keepIf).flat();
  const on = Object.entries(keepIf)
    .filter(([name]) => isOn(variables[name]))
    .flatMap(([name, patterns]) => [name, ...patterns]);
  return (name) => {
    if (matches(name, drop)) return false;
    if (keep.includes(name) || matches(name, on)) return true;
    return matches(name, keep) && !matches(name, switched);
  };
}

/** As the programs themselves read their switches, or stricter. */
function isOn(value: string | undefined): boolean {
  return /^(1|true|yes|on)$/i.test(value ?? '');
}

/** A name, or a prefix followed by `*`. */
function matches(name: string, patterns: string[]): boolean {
  return patterns.some((pattern) =>
    pattern.endsWith('*')
      ? name.startsWith(pattern.slice(0, -1))
      : name === pattern
  );
}
