import type { Config } from '../../../config/config.ts';
import { httpSchema, tokenVariable } from '../../../config/http.ts';
import { listOf } from '../../../config/overrides.ts';
import { HostError } from '../../../core/errors.ts';
import { pathsOf } from '../../../core/paths/paths.ts';
import { ConfigSource } from '../../../host/config-source.ts';
import { createHost, retainAutomatically } from '../../../host/host.ts';
import { log, logProblem } from '../../../host/log.ts';
import { isNowhere } from '../../../host/workspace-root.ts';
import { addressIn } from '../../../interfaces/http/address.ts';
import { type Listening, listen } from '../../../interfaces/http/serve-http.ts';
import { type Token, tokenFor } from '../../../interfaces/http/token.ts';
import { liveUntilSignal } from '../../../interfaces/mcp/server/lifecycle.ts';
import { shellQuoted } from '../../output/text.ts';
import { setUpServer } from '../../process/process-setup.ts';
import { checkStart, flagsOf, refuse, valuesOf } from './mcp.ts';

/** Serves MCP over HTTP until a signal ends it. */
export async function runMcpHttp(args: string[]): Promise<void> {
  await start(args).catch(refuse);
}

async function start(args: string[]): Promise<void> {
  setUpServer(logProblem);
  const ownToken = takeToken();
  const values = valuesOf(withAddress(args));
  const address = addressIn(values.http ?? '');
  const flags = flagsOf(values);
  const source = new ConfigSource(flags, (config) =>
    withAllowed(config, values['allow-host'], values['allow-origin'])
  );
  const config = await source.load();
  checkServable(config, flags.workspace, flags.agentId);
  const host = checkStart(await createHost(config, source));
  // Checked before the token is written: the directory may be another user's.
  host.safety.check();
  const token = tokenFor(pathsOf(config.workspace).token, ownToken);
  host.keys.hide(token.value);
  let listening: Listening | undefined;
  const life = liveUntilSignal(async () => {
    await Promise.all([listening?.close(), host.close()]);
  });
  listening = await listen({ host, life, address, token });
  host.watch();
  retainAutomatically(host);
  for (const line of announcement(listening.url, token)) log(line);
}

/** Also removes the token from the environment, which agents inherit. */
function takeToken(): string | undefined {
  const token = process.env[tokenVariable];
  delete process.env[tokenVariable];
  return token;
}

/** `--http` may have no value, which `parseArgs` does not support. */
function withAddress(args: string[]): string[] {
  return args.map((word, index) =>
    word === '--http' && (args[index + 1] ?? '-').startsWith('-')
      ? '--http='
      : word
  );
}

/** @throws HostError `config_invalid` */
function withAllowed(
  config: Config,
  hosts: string | undefined,
  origins: string | undefined
): Config {
  const { data, error } = httpSchema().safeParse({
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
    'docs/guides/http.md has examples.'
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
  const isNamed = workspace !== undefined || process.env.CLAUDE_PROJECT_DIR;
  if (isNamed || !isNowhere(process.cwd())) return;
  throw new HostError(
    'config_invalid',
    `The directory ${process.cwd()} does not say which project to serve.`,
    'Start in the project, or give --workspace.'
  );
}

/** Lines that say how to connect a client. They never have the token. */
function announcement(url: string, { file }: Token): string[] {
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
      ? `its token is the value of ${tokenVariable}`
      : `its token is in ${file}: export ${tokenVariable}="$(cat ${shellQuoted(file)})"`,
    `an entry for a client that has ${tokenVariable}: ${JSON.stringify(entry)}`
  ];
}
