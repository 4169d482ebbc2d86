import { homedir } from 'node:os';
import { join } from 'node:path';
import type {
  Access,
  Connection,
  Interactive,
  McpServer,
  Surroundings
} from '../src/plugin/plugin.ts';
import { record } from './shared/json-fields.ts';
import { changedSettings } from './shared/user-settings.ts';

/** Copilot's own tools, by access; full access is not limited to them. */
export function tools(access: Access): string[] {
  const reading = ['view', 'grep', 'rg', 'glob'];
  if (access === 'read') return reading;
  // Some models get the last tool in place of the two before it.
  return [...reading, 'create', 'edit', 'apply_patch'];
}

/** Tools beyond an access that a run may ask for. */
const askable = ['bash', 'create', 'edit', 'apply_patch', 'web_fetch'];

/** Copilot refuses anything that is not allowed here if it cannot ask. */
export function permissions(access: Access, asks = false): string[] {
  if (access === 'full') return ['--allow-all-tools', '--allow-all-paths'];
  const own = tools(access);
  const offered = asks ? [...new Set([...own, ...askable])] : own;
  return [
    `--available-tools=${offered.join(',')}`,
    // Otherwise every temporary directory counts as the agent's own.
    '--disallow-temp-dir',
    ...(access === 'write' ? ['--allow-tool=write'] : [])
  ];
}

export function connect(
  server: McpServer,
  directory: string,
  { request, inTerminal, environment, read }: Surroundings
): Connection {
  const { name, command, args, env, callSeconds } = server;
  // The server of that name is the user's and has tools to start agents.
  const key = request.asks ? name : `${name}-worker`;
  const entry = {
    type: 'local',
    ...{ command, args, env, tools: server.tools },
    timeout: 1000 * callSeconds
  };
  const isLimited = request.access !== 'full';
  const offered = server.tools.map((tool) => `${key}-${tool}`).join(',');
  const connection = {
    args: [
      `--additional-mcp-config=@${join(directory, 'mcp.json')}`,
      ...(request.asks ? [] : [`--disable-mcp-server=${name}`]),
      ...server.tools.map((tool) => `--allow-tool=${key}(${tool})`),
      // Adds to the list of `permissions`. Without that one, as with full
      // access, this list would exclude all other tools.
      ...(isLimited ? [`--available-tools=${offered}`] : [])
    ],
    files: { 'mcp.json': JSON.stringify({ mcpServers: { [key]: entry } }) }
  };
  if (isLimited && request.asks)
    return asking(connection, directory, server, { environment, read });
  return isLimited && inTerminal
    ? refusing(connection, directory, { environment, read })
    : connection;
}

/**
 * Copilot calls a hook where it would ask a person. Hooks of the user are files
 * in Copilot's home, so it gets a home of its own, which links to the user's.
 */
function asking(
  connection: Connection & Required<Pick<Connection, 'files'>>,
  directory: string,
  { command, args, callSeconds }: McpServer,
  { environment }: Pick<Surroundings, 'environment' | 'read'>
): Connection {
  const home =
    environment.COPILOT_HOME || join(environment.HOME || homedir(), '.copilot');
  const [script = '', folder = ''] = args;
  const hook = {
    type: 'command',
    bash: 'exec "$TROUPE_ASK_NODE" "$TROUPE_ASK_BRIDGE" "$TROUPE_ASK_FOLDER" hook',
    timeoutSec: callSeconds
  };
  const hooks = { version: 1, hooks: { permissionRequest: [hook] } };
  return {
    ...connection,
    env: {
      COPILOT_HOME: join(directory, 'home'),
      TROUPE_ASK_NODE: command,
      TROUPE_ASK_BRIDGE: script,
      TROUPE_ASK_FOLDER: folder
    },
    files: {
      ...connection.files,
      'home/hooks/troupe.json': JSON.stringify(hooks)
    },
    links: { home }
  };
}

/**
 * In a terminal, Copilot asks for permission, unless it is on autopilot and its
 * settings rule out all permissions. No flag does the latter, so Copilot gets a
 * home directory of its own, in which everything else links to the user's.
 */
function refusing(
  connection: Connection & Required<Pick<Connection, 'files'>>,
  directory: string,
  { environment, read }: Pick<Surroundings, 'environment' | 'read'>
): Connection {
  const home =
    environment.COPILOT_HOME || join(environment.HOME || homedir(), '.copilot');
  const settings = changedSettings(
    read(join(home, 'settings.json')),
    (theirs) => ({
      ...theirs,
      permissions: {
        ...record(theirs.permissions),
        disableBypassPermissionsMode: 'disable'
      }
    })
  );
  return {
    ...connection,
    env: { COPILOT_HOME: join(directory, 'home') },
    files: { ...connection.files, 'home/settings.json': settings },
    links: { home }
  };
}

export const interactive: Interactive = {
  args: (request) => {
    const { access, model, sessionId, newSessionId } = request;
    const { systemPrompt, prompt } = request;
    return [
      ...permissions(access),
      ...(access === 'full'
        ? ['--mode=interactive', '--no-ask-user']
        : ['--mode=autopilot']),
      ...(model ? ['--model', model] : []),
      ...(sessionId ? [`--resume=${sessionId}`] : []),
      ...(newSessionId ? [`--session-id=${newSessionId}`] : []),
      `--interactive=${systemPrompt ? `${systemPrompt}\n\n` : ''}${prompt}`
    ];
  },

  // Otherwise Copilot asks whether the directory is trusted, which the host
  // decides. The variable lifts no limit: other tools are not available, and
  // paths are still checked.
  env: () => ({ COPILOT_ALLOW_ALL: 'true' })
};
