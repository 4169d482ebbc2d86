import { isatty } from 'node:tty';
import { fileURLToPath } from 'node:url';
import type { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { type Config, hasToolset, loadConfig } from '../../config.ts';
import type { Flags } from '../../config-overrides.ts';
import { HostError, messageOf } from '../../core/errors.ts';
import { prepareRecord } from '../../core/paths/identity.ts';
import { createHost, type Host } from '../../host.ts';
import { instructionsFor } from '../../interfaces/mcp/instructions.ts';
import { liveUntilDisconnect } from '../../interfaces/mcp/lifecycle.ts';
import { offerOf, prospectOf } from '../../interfaces/mcp/offer.ts';
import { serve } from '../../interfaces/mcp/server.ts';
import { StdioTransport } from '../../interfaces/mcp/stdio-transport.ts';
import { log, logProblem } from '../../log.ts';
import { retainAutomatically } from '../../retain.ts';
import { checkSquadConfig } from '../../squad-config.ts';
import { isNowhere } from '../../workspace-root.ts';
import { ownStdout, surviveStrays } from '../own-stdout.ts';
import { readFlags } from '../served-flags.ts';
import { keepHeapSmall } from '../small-heap.ts';
import { takeThreads } from '../take-threads.ts';
import { serveWorker } from './worker-mcp.ts';

/** Flags of `troupe mcp`. Parsed without the command line's library: start-up counts. */
export const mcpFlags = {
  workspace: { type: 'string' },
  config: { type: 'string' },
  toolsets: { type: 'string' },
  engines: { type: 'string' },
  'on-disconnect': { type: 'string' },
  'max-access': { type: 'string' },
  strict: { type: 'boolean' },
  trust: { type: 'boolean' },
  'agent-id': { type: 'string' },
  'agents-directory-path': { type: 'string' },
  'state-mode': { type: 'string' },
  engine: { type: 'string' },
  'engine-command': { type: 'string' },
  'run-template-path': { type: 'string' },
  'create-chat-template-path': { type: 'string' },
  'process-timeout-ms': { type: 'string' },
  'execution-mode': { type: 'string' },
  'sequential-delay-ms': { type: 'string' },
  http: { type: 'string' },
  'allow-host': { type: 'string' },
  'allow-origin': { type: 'string' }
} as const;

const rootsMs = 500;

/** Serves MCP on stdin and stdout until the client leaves. */
export async function runMcp(args: string[]): Promise<void> {
  await serveWith(() => {
    const values = valuesOf(args);
    if (values['allow-host'] ?? values['allow-origin'])
      throw new HostError(
        'config_invalid',
        '--allow-host and --allow-origin are for a server over HTTP.',
        'Add --http, or leave them out.'
      );
    return flagsOf(values);
  });
}

/**
 * Serves what the flags say.
 * @param adjust what the flags alone cannot say
 */
export async function serveWith(
  read: () => Flags,
  adjust: (config: Config) => Config = (config) => config
): Promise<void> {
  await start(read, adjust).catch(refuse);
}

/** Says why there is no server, and ends. */
export function refuse(error: unknown): never {
  const text = messageOf(error);
  log(error instanceof HostError ? `${text} ${error.hint}` : text);
  process.exit(1);
}

export function valuesOf(args: string[]) {
  return readFlags(args, mcpFlags, 'troupe mcp');
}

export function flagsOf(values: ReturnType<typeof valuesOf>): Flags {
  return {
    ...values,
    forSquads: true,
    onDisconnect: values['on-disconnect'],
    maxAccess: values['max-access'],
    agentId: values['agent-id'],
    agentsDirectoryPath: values['agents-directory-path'],
    squad: {
      stateMode: values['state-mode'],
      engine: values.engine,
      engineCommand: values['engine-command'],
      runTemplatePath: values['run-template-path'],
      createChatTemplatePath: values['create-chat-template-path'],
      processTimeoutMs: values['process-timeout-ms'],
      executionMode: values['execution-mode'],
      sequentialDelayMs: values['sequential-delay-ms']
    }
  };
}

async function start(
  read: () => Flags,
  adjust: (config: Config) => Config
): Promise<void> {
  const stdout = ownStdout();
  surviveStrays(logProblem);
  takeThreads();
  keepHeapSmall();
  const flags = read();
  const loaded = adjust(await loadConfig(flags));
  if (loaded.toolsets?.includes('worker') || flags.agentId !== undefined)
    return serveWorker(loaded, flags.agentId, stdout);
  const hosts = [await createHost(loaded)];
  const life = liveUntilDisconnect(async () => {
    await Promise.all(hosts.map((host) => host.close()));
  });
  const [host] = hosts;
  if (!host) return;
  const nowhere =
    flags.workspace === undefined &&
    !process.env.CLAUDE_PROJECT_DIR &&
    isNowhere(process.cwd());
  if (!nowhere) checkStart(host);
  const relocate = async (server: Server): Promise<Host> => {
    const root = await firstRoot(server);
    const found =
      root === undefined
        ? Promise.resolve(host)
        : loadConfig({ ...flags, workspace: root })
            .then(adjust)
            .then(createHost);
    const right = await found.then(checkStart).catch(refuse);
    hosts.splice(0, 1, right);
    return right;
  };
  const where = nowhere ? 'the workspace' : undefined;
  // Somebody tries it by hand, and would look at nothing.
  if (isatty(0))
    log(
      'this talks to an MCP client, which starts it by itself; Ctrl-C ends it. To set up your client: troupe init'
    );
  await serve(
    {
      life,
      instructions: instructionsFor(host.registry, host.config, where),
      // Another workspace may have another configuration.
      prospect: nowhere
        ? { resources: true, prompts: true }
        : prospectOf(host.config),
      offer: async (server) => {
        const right = nowhere ? await relocate(server) : host;
        right.watch();
        retainAutomatically(right);
        return offerOf(right);
      }
    },
    new StdioTransport(process.stdin, stdout)
  );
}

/**
 * @throws HostError `config_invalid` when the record cannot be written, or
 *   squads could never run
 */
export function checkStart(host: Host): Host {
  const { config, registry, paths } = host;
  prepareRecord(paths);
  if (hasToolset(config, 'squad'))
    checkSquadConfig(config.workspace, config, registry.all());
  return host;
}

/** The client's first root, asked once and not for long. */
async function firstRoot(server: Server): Promise<string | undefined> {
  if (!server.getClientCapabilities()?.roots) return undefined;
  try {
    const { roots } = await server.listRoots(undefined, { timeout: rootsMs });
    const uri = roots.find((root) => root.uri.startsWith('file:'))?.uri;
    return uri === undefined ? undefined : fileURLToPath(uri);
  } catch {
    return undefined;
  }
}
