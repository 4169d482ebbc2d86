import type { Writable } from 'node:stream';
import { isatty } from 'node:tty';
import { fileURLToPath } from 'node:url';
import type { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { type Config, hasToolset } from '../../../config/config.ts';
import type { CouncilDoor } from '../../../config/council.ts';
import type { Flags } from '../../../config/overrides.ts';
import { checkSquadConfig } from '../../../config/squads.ts';
import { HostError, messageOf } from '../../../core/errors.ts';
import { prepareRecord } from '../../../core/paths/records.ts';
import { ConfigSource } from '../../../host/config-source.ts';
import {
  createHost,
  type Host,
  retainAutomatically
} from '../../../host/host.ts';
import { log, logProblem } from '../../../host/log.ts';
import { isNowhere } from '../../../host/workspace-root.ts';
import { serveEveryRevision } from '../../../interfaces/mcp/server/every-revision.ts';
import { instructionsFor } from '../../../interfaces/mcp/server/instructions.ts';
import { liveUntilDisconnect } from '../../../interfaces/mcp/server/lifecycle.ts';
import { offerOf, prospectOf } from '../../../interfaces/mcp/server/offer.ts';
import { StdioTransport } from '../../../interfaces/mcp/transport/stdio-transport.ts';
import { setUpServer } from '../../process/process-setup.ts';
import { readFlags } from './served-flags.ts';
import { serveWorker } from './worker-mcp.ts';

/**
 * The flags of `troupe mcp`. Servers parse their flags without commander,
 * which would slow their start; server-commands.ts describes them for help.
 */
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

/** Flags of `council mcp`. */
export const councilFlags = {
  'agent-name': { type: 'string', short: 'n' },
  format: { type: 'string', short: 'f' },
  workspace: { type: 'string' },
  config: { type: 'string' },
  engines: { type: 'string' },
  'max-access': { type: 'string' },
  trust: { type: 'boolean' }
} as const;

/** How long the client may take to list its roots. */
const rootsMs = 500;

/** Serves MCP on stdin and stdout until the client disconnects. */
export async function runMcp(args: string[]): Promise<void> {
  await start(() => {
    const values = valuesOf(args);
    if (values['allow-host'] ?? values['allow-origin'])
      throw new HostError(
        'config_invalid',
        '--allow-host and --allow-origin are for a server over HTTP.',
        'Add --http, or leave them out.'
      );
    return { flags: flagsOf(values), adjust: (config) => config };
  });
}

/** Serves the tools of the council alone, until the client disconnects. */
export async function runCouncilMcp(args: string[]): Promise<void> {
  await start(() => {
    const values = readFlags(args, councilFlags, 'council mcp');
    const { workspace, config, engines, trust } = values;
    const councilDoor = councilDoorOf(values['agent-name'], values.format);
    const maxAccess = values['max-access'];
    return {
      flags: {
        ...{ workspace, config, engines, trust, maxAccess },
        toolsets: 'council'
      },
      adjust: (loaded) => ({ ...loaded, councilDoor })
    };
  });
}

/** Logs why the server does not start, and exits. */
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

interface Request {
  flags: Flags;
  /** Sets configuration that has no flag. */
  adjust: (config: Config) => Config;
}

async function start(read: () => Request): Promise<void> {
  const stdout = setUpServer(logProblem);
  try {
    await serveStdio(read(), stdout);
  } catch (error) {
    refuse(error);
  }
}

async function serveStdio(
  { flags, adjust }: Request,
  stdout: Writable
): Promise<void> {
  const source = new ConfigSource(flags, adjust);
  const config = await source.load();
  if (config.toolsets?.includes('worker') || flags.agentId !== undefined)
    return serveWorker(config, flags.agentId, stdout);
  let host = await createHost(config, source);
  const life = liveUntilDisconnect(() => host.close());
  /** Nothing names the project: the first root of the client does. */
  const isNoProject =
    flags.workspace === undefined &&
    !process.env.CLAUDE_PROJECT_DIR &&
    isNowhere(process.cwd());
  if (!isNoProject) checkStart(host);
  const relocate = async (server: Server): Promise<void> => {
    const workspace = await firstRoot(server);
    if (workspace !== undefined) {
      const its = new ConfigSource({ ...flags, workspace }, adjust);
      host = await createHost(await its.load(), its);
    }
    checkStart(host);
  };
  // With a terminal on stdin, a user has started the server by hand.
  if (isatty(0))
    log(
      'this talks to an MCP client, which starts it by itself; Ctrl-C ends it. To set up your client: troupe init'
    );
  const where = isNoProject ? 'the workspace' : undefined;
  await serveEveryRevision(
    {
      life,
      instructions: instructionsFor(host.registry, config, where),
      // The workspace of the client may have another configuration.
      prospect: isNoProject
        ? { resources: true, prompts: true, laterTools: true }
        : prospectOf(config),
      offer: async (server) => {
        if (isNoProject) await relocate(server).catch(refuse);
        host.watch();
        retainAutomatically(host);
        return offerOf(host);
      }
    },
    new StdioTransport(process.stdin, stdout)
  );
}

/**
 * @throws HostError `config_invalid` when the record cannot be written or no
 *   squad can run
 */
export function checkStart(host: Host): Host {
  const { config, registry, paths } = host;
  prepareRecord(paths);
  if (hasToolset(config, 'squad'))
    checkSquadConfig(config.workspace, config, registry.all());
  return host;
}

/** The first root of the client; undefined without an answer in time. */
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

/** @throws HostError `config_invalid` */
function councilDoorOf(
  name: string | undefined,
  format = 'markdown'
): CouncilDoor {
  if (format !== 'markdown' && format !== 'json')
    throw new HostError(
      'config_invalid',
      `--format is "${format}".`,
      'Give markdown or json.'
    );
  const agentName = name?.trim();
  if (agentName !== undefined && !/^.{1,200}$/su.test(agentName))
    throw new HostError(
      'config_invalid',
      '--agent-name is empty, or longer than 200 characters.',
      'Give the name under which the agent takes part.'
    );
  return { agentName, format };
}
