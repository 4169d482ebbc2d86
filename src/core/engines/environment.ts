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
  configured: Record<string, string> = {},
  from: Record<string, string | undefined> = process.env
): Record<string, string> {
  const { keep = [], drop = [], set } = env ?? {};
  const environment: Record<string, string> = {};
  for (const [name, value] of Object.entries(from)) {
    if (value === undefined || matches(name, drop)) continue;
    const isKept = matches(name, keep) && !isPlaceholder(value);
    if (matches(name, allowed) || isKept) environment[name] = value;
  }
  return withAbsolutePath({
    ...environment,
    ...set?.(request),
    ...configured,
    TROUPE_AGENT_ID: record.agent_id,
    TROUPE_AGENT_DIR: directory,
    TROUPE_DEPTH: String(record.depth)
  });
}

/** A name, or a prefix followed by `*`. */
function matches(name: string, patterns: string[]): boolean {
  return patterns.some((pattern) =>
    pattern.endsWith('*')
      ? name.startsWith(pattern.slice(0, -1))
      : name === pattern
  );
}
