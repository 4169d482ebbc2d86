import { homedir } from 'node:os';
import { join } from 'node:path';
import type {
  Access,
  Connection,
  Interactive,
  McpServer,
  Surroundings
} from '../src/plugin.ts';
import { record } from './json-fields.ts';
import { changedSettings } from './user-settings.ts';

/** Copilot's own tools, by access; with full access it has them all. */
export function tools(access: Access): string[] {
  const reading = ['view', 'grep', 'rg', 'glob'];
  if (access === 'read') return reading;
  // Some models are given the last in place of the other two.
  return [...reading, 'create', 'edit', 'apply_patch'];
}

/** What is not allowed here is refused, where it cannot ask. */
export function permissions(access: Access): string[] {
  if (access === 'full') return ['--allow-all'];
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
  // The one of that name is the user's, with tools to start agents.
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
      // Together with those of `permissions`; alone, these would be all.
      ...(isLimited ? [`--available-tools=${offered}`] : [])
    ],
    files: { 'mcp.json': JSON.stringify({ mcpServers: { [key]: entry } }) }
  };
  return isLimited && inTerminal
    ? refusing(connection, directory, { environment, read })
    : connection;
}

/**
 * In a terminal Copilot asks, unless it is on autopilot and must not have
 * all permissions. Only its settings say the latter, so that it is given a
 * home of its own, where all else is the user's.
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

  // Else it asks whether the directory is trusted; the host decides that. It
  // lifts no limit: other tools are not there, and paths are still checked.
  env: () => ({ COPILOT_ALLOW_ALL: 'true' })
};
