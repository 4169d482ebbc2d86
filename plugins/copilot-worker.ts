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

/** Copilot refuses anything that is not allowed here if it cannot ask. */
export function permissions(access: Access): string[] {
  if (access === 'full') return ['--allow-all-tools', '--allow-all-paths'];
  return [
    `--available-tools=${tools(access).join(',')}`,
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
  const key = `${name}-worker`;
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
      `--disable-mcp-server=${name}`,
      ...server.tools.map((tool) => `--allow-tool=${key}(${tool})`),
      // Adds to the list of `permissions`. Without that one, as with full
      // access, this list would exclude all other tools.
      ...(isLimited ? [`--available-tools=${offered}`] : [])
    ],
    files: { 'mcp.json': JSON.stringify({ mcpServers: { [key]: entry } }) }
  };
  return isLimited && inTerminal
    ? refusing(connection, directory, { environment, read })
    : connection;
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
