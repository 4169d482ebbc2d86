import { type Config, loadConfig } from '../../config.ts';
import { listOf } from '../../config-overrides.ts';
import { HostError } from '../../core/errors.ts';
import { pathsOf } from '../../core/paths/paths.ts';
import { createHost } from '../../host.ts';
import { httpSchema, tokenVariable } from '../../http-config.ts';
import { addressIn } from '../../interfaces/http/address.ts';
import { type Listening, listen } from '../../interfaces/http/serve-http.ts';
import { type Token, tokenFor } from '../../interfaces/http/token.ts';
import { liveUntilSignal } from '../../interfaces/mcp/lifecycle.ts';
import { log, logProblem } from '../../log.ts';
import { retainAutomatically } from '../../retain.ts';
import { isNowhere } from '../../workspace-root.ts';
import { ownStdout, surviveStrays } from '../own-stdout.ts';
import { keepHeapSmall } from '../small-heap.ts';
import { takeThreads } from '../take-threads.ts';
import { checkStart, flagsOf, refuse, valuesOf } from './mcp.ts';

/** Serves MCP over HTTP until a signal ends it. */
export async function runMcpHttp(args: string[]): Promise<void> {
  await start(args).catch(refuse);
}

async function start(args: string[]): Promise<void> {
  ownStdout();
  surviveStrays(logProblem);
  takeThreads();
  keepHeapSmall();
  const given = takeToken();
  const values = valuesOf(withAddress(args));
  const address = addressIn(values.http ?? '');
  const flags = flagsOf(values);
  const config = allowing(
    await loadConfig(flags),
    values['allow-host'],
    values['allow-origin']
  );
  checkServable(config, flags.workspace, flags.agentId);
  const host = checkStart(await createHost(config));
  // Who prepared the directory of the token would know it.
  host.safety.check();
  const token = tokenFor(pathsOf(config.workspace).token, given);
  host.keys.hide(token.value);
  let listening: Listening | undefined;
  const life = liveUntilSignal(async () => {
    await Promise.all([listening?.close(), host.close()]);
  });
  listening = await listen({ host, life, address, token });
  host.watch();
  retainAutomatically(host);
  for (const line of told(listening.url, token)) log(line);
}

/** Nothing that is started from here is to have it in its environment. */
function takeToken(): string | undefined {
  const given = process.env[tokenVariable];
  delete process.env[tokenVariable];
  return given;
}

/** `--http` may stand alone, which the parser of flags does not know. */
function withAddress(args: string[]): string[] {
  return args.map((word, index) =>
    word === '--http' && (args[index + 1] ?? '-').startsWith('-')
      ? '--http='
      : word
  );
}

/** @throws HostError `config_invalid` */
function allowing(
  config: Config,
  hosts: string | undefined,
  origins: string | undefined
): Config {
  const { data, error } = httpSchema.safeParse({
    ...config.http,
    allowedHosts: [...config.http.allowedHosts, ...(listOf(hosts) ?? [])],
    allowedOrigins: [...config.http.allowedOrigins, ...(listOf(origins) ?? [])]
  });
  if (data) return { ...config, http: data };
  const [{ path, message } = { path: [''], message: '' }] = error.issues;
  const [flag, text] =
    path[0] === 'allowedHosts'
      ? ['--allow-host', hosts]
      : ['--allow-origin', origins];
  throw new HostError(
    'config_invalid',
    `One of ${flag} ${JSON.stringify(text)} ${message}.`,
    'docs/http.md has examples.'
  );
}

/** @throws HostError `config_invalid` */
function checkServable(
  { toolsets }: Config,
  workspace: string | undefined,
  agentId: string | undefined
): void {
  if (toolsets?.includes('worker') || agentId !== undefined)
    throw new HostError(
      'config_invalid',
      'A worker is not served over HTTP: its tools are for it alone.',
      'Leave --toolsets worker and --agent-id out; agent_create gives workers their server.'
    );
  const isSaid = workspace !== undefined || process.env.CLAUDE_PROJECT_DIR;
  if (isSaid || !isNowhere(process.cwd())) return;
  throw new HostError(
    'config_invalid',
    `The directory ${process.cwd()} does not say which project to serve.`,
    'Start in the project, or give --workspace.'
  );
}

/** For people, who give it to their clients. It never has the token. */
function told(url: string, { file }: Token): string[] {
  const entry = {
    mcpServers: {
      agents: {
        type: 'http',
        url,
        headers: { Authorization: `Bearer \${${tokenVariable}}` }
      }
    }
  };
  return [
    `serves MCP at ${url}`,
    file === undefined
      ? `its token is what ${tokenVariable} was`
      : `its token is in ${file}: export ${tokenVariable}="$(cat ${quoted(file)})"`,
    `an entry for a client that has ${tokenVariable}: ${JSON.stringify(entry)}`
  ];
}

/** For a shell, inside of double quotes. */
function quoted(path: string): string {
  return `'${path.replaceAll("'", "'\\''")}'`;
}
