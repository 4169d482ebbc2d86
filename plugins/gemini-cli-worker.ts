import { homedir } from 'node:os';
import { join } from 'node:path';
import type {
  Access,
  Connection,
  Interactive,
  McpServer,
  Surroundings
} from '../src/plugin/plugin.ts';
import { permissions } from './shared/gemini-cli-limits.ts';
import { record } from './shared/json-fields.ts';
import { changedSettings } from './shared/user-settings.ts';

/**
 * Gemini CLI reads its servers only from files, of which only one can be moved.
 * The worker therefore gets a home directory of its own, in which everything
 * else links to the user's. A run that asks gets its server by the protocol.
 */
export function connect(
  server: McpServer,
  directory: string,
  { environment, read, request }: Surroundings
): Connection {
  if (request.asks)
    return {
      args: [`--admin-policy=${join(directory, 'asks.toml')}`],
      files: { 'asks.toml': askingPolicy(server, request.access) }
    };
  const home = environment.GEMINI_CLI_HOME || environment.HOME || homedir();
  const own = join('.gemini', 'settings.json');
  return {
    args: [`--admin-policy=${join(directory, 'worker.toml')}`],
    env: { GEMINI_CLI_HOME: join(directory, 'home') },
    files: {
      'worker.toml': policy(server),
      [join('home', own)]: settings(server, read(join(home, own)))
    },
    links: Object.fromEntries(
      ['.gemini', '.agents', '.env'].map((name) => [
        join('home', name),
        join(home, name)
      ])
    )
  };
}

export const interactive: Interactive = {
  args: ({ access, model, sessionId, systemPrompt, prompt }) => [
    ...permissions(access),
    ...(model ? ['--model', model] : []),
    ...(sessionId ? [`--resume=${sessionId}`] : []),
    `--prompt-interactive=${systemPrompt ? `${systemPrompt}\n\n` : ''}${prompt}`
  ]
};

/** Another name, because a project's server of the same name would win. */
function keyOf({ name }: McpServer): string {
  return `${name}-worker`;
}

function settings(server: McpServer, theirs: string | undefined): string {
  const { name, command, args, env, tools, callSeconds } = server;
  const key = keyOf(server);
  const entry = {
    ...{ command, args, env },
    timeout: 1000 * callSeconds,
    includeTools: tools
  };
  return changedSettings(theirs, (all) => {
    const { allowed, excluded, ...mcp } = record(all.mcp);
    return {
      ...all,
      general: { ...record(all.general), enableAutoUpdate: false },
      model: {
        ...record(all.model),
        // The fifth wait in a row without a task would count as a loop.
        disableLoopDetection: true,
        maxSessionTurns: -1
      },
      mcp: {
        ...mcp,
        ...(Array.isArray(allowed) ? { allowed: [...allowed, key] } : {}),
        // The server of the project or the user has tools to start agents.
        excluded: [...(Array.isArray(excluded) ? excluded : []), name]
      },
      mcpServers: { ...record(all.mcpServers), [key]: entry }
    };
  });
}

/** Refuses tools that would ask for confirmation: no person can answer. */
function policy(server: McpServer): string {
  const asking = { interactive: true, modes: ['default', 'autoEdit'] };
  return [
    rule('allow', 999, server.tools, { mcpName: keyOf(server) }),
    rule('deny', 950, ['ask_user', 'enter_plan_mode', 'exit_plan_mode']),
    rule('deny', 1, ['*'], asking),
    rule('allow', 2, READING, asking),
    rule('allow', 2, EDITING, { ...asking, modes: ['autoEdit'] })
  ].join('\n');
}

/** Of a run that asks: the host gets each use of a tool that does not read. */
function askingPolicy(server: McpServer, access: Access): string {
  const own = [
    rule('allow', 999, server.tools, { mcpName: server.name }),
    rule('deny', 950, ['ask_user', 'enter_plan_mode', 'exit_plan_mode'])
  ];
  if (access === 'full') return own.join('\n');
  const fetching = access === 'write' ? ['web_fetch'] : [];
  const asking = { interactive: true, modes: ['default'] };
  return [
    ...own,
    rule('deny', 950, ['activate_skill', 'invoke_agent']),
    rule('allow', 3, [...READING, ...fetching], asking),
    rule('deny', 2, ['web_fetch'], asking),
    rule('ask_user', 1, ['*'], asking)
  ].join('\n');
}

/** The approval mode of a run that asks. */
export function askingMode(access: Access): string[] {
  return ['--approval-mode', access === 'full' ? 'yolo' : 'default'];
}

function rule(
  decision: 'allow' | 'ask_user' | 'deny',
  priority: number,
  toolName: string[],
  more: object = {}
): string {
  const fields = { decision, priority, toolName, ...more };
  const lines = Object.entries(fields).map(
    // JSON of these values is valid TOML.
    ([name, value]) => `${name} = ${JSON.stringify(value)}\n`
  );
  return `[[rule]]\n${lines.join('')}`;
}

/** Tools that Gemini CLI's own policies allow without asking. */
const READING = [
  ...['glob', 'grep_search', 'list_directory', 'read_file'],
  ...['google_web_search', 'codebase_investigator', 'cli_help'],
  ...['get_internal_docs', 'update_topic', 'complete_task', 'invoke_agent'],
  ...['read_mcp_resource', 'list_mcp_resources', 'tracker_create_task'],
  ...['tracker_update_task', 'tracker_get_task', 'tracker_list_tasks'],
  ...['tracker_add_dependency', 'tracker_visualize']
];
const EDITING = ['write_file', 'replace', 'web_fetch'];
