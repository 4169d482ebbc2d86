import type {
  Connection,
  EngineRequest,
  Interactive,
  McpServer,
  Surroundings
} from '../src/plugin/plugin.ts';
import { briefedPrompt, briefsByPrompt } from './shared/brief.ts';
import { askingConnection } from './shared/codex-asks.ts';
import { tomlList, tomlString, tomlTable } from './shared/toml.ts';

/** Sets a key of config.toml for one start. */
export function setting(name: string, value: string): string[] {
  return ['-c', `${name}=${tomlString(value)}`];
}

export function sandbox({ access, asks }: EngineRequest): string[] {
  if (access === 'full') return ['--dangerously-bypass-approvals-and-sandbox'];
  // Without this flag, Codex asks for nothing; with it, it may write.
  if (asks) return ['--approve-for-me'];
  return ['-s', access === 'write' ? 'workspace-write' : 'read-only'];
}

/**
 * Codex merges this entry key by key with a server of the same name in the
 * user's configuration, so every key that could limit our server is set.
 */
export function connect(
  server: McpServer,
  _directory: string,
  surroundings: Surroundings
): Connection {
  const { request, environment } = surroundings;
  if (!request.asks || request.access === 'full')
    return connection(server, surroundings);
  const asking = askingConnection(server, request.cwd, environment);
  const { args, env } = connection(asking.server, surroundings);
  return { args: [...asking.args, ...args], env: { ...env, ...asking.env } };
}

function connection(
  server: McpServer,
  surroundings: Surroundings
): Connection & Required<Pick<Connection, 'env'>> {
  const approve = tomlTable({ approval_mode: tomlString('approve') });
  const entry = tomlTable({
    command: tomlString(server.command),
    args: tomlList(server.args),
    // Passed by name: every user of the machine can read arguments.
    env_vars: tomlList([...Object.keys(server.env), ...kept(surroundings)]),
    enabled: 'true',
    // Otherwise Codex starts without the server, and the model lacks tools.
    required: 'true',
    startup_timeout_sec: '60',
    tool_timeout_sec: String(server.callSeconds),
    enabled_tools: tomlList(server.tools),
    disabled_tools: '[]',
    default_tools_approval_mode: tomlString('approve'),
    tools: tomlTable(
      Object.fromEntries(server.tools.map((tool) => [tool, approve]))
    )
  });
  return {
    args: [
      ...['-c', `mcp_servers.${server.name}=${entry}`],
      ...(surroundings.inTerminal ? keyProvider(surroundings) : [])
    ],
    env: server.env
  };
}

/** A run that asks has a server that reads the configuration of Codex. */
function kept({ request }: Surroundings): string[] {
  return request.asks ? ['CODEX_HOME'] : [];
}

/** No person can answer its questions. */
export const interactive = {
  args(request) {
    const { access, baseUrl, cwd, model, sessionId, systemPrompt } = request;
    return [
      ...sandbox(request),
      ...(access === 'full' ? [] : ['-a', 'never']),
      ...['-C', cwd],
      ...(model ? ['-m', model] : []),
      ...(baseUrl ? setting('openai_base_url', baseUrl) : []),
      ...(systemPrompt && !briefsByPrompt(request)
        ? setting('developer_instructions', systemPrompt)
        : []),
      // Otherwise Codex asks whether the directory is trusted.
      '-c',
      `projects=${tomlTable({ [cwd]: tomlTable({ trust_level: tomlString('trusted') }) })}`,
      ...['-c', 'check_for_update_on_startup=false'],
      // Codex counts shown tooltips in the user's configuration.
      ...['-c', 'tui.show_tooltips=false'],
      ...(sessionId ? ['resume', '--', sessionId] : ['--']),
      briefedPrompt(request)
    ];
  }
} satisfies Interactive;

/**
 * In a terminal, Codex ignores a key in the environment and asks for a login,
 * unless a provider names the variable.
 */
function keyProvider({ environment, request }: Surroundings): string[] {
  if (!environment.CODEX_API_KEY) return [];
  const entry = tomlTable({
    name: tomlString('OpenAI'),
    base_url: tomlString(request.baseUrl ?? 'https://api.openai.com/v1'),
    env_key: tomlString('CODEX_API_KEY'),
    wire_api: tomlString('responses')
  });
  return [
    ...setting('model_provider', 'troupe'),
    ...['-c', `model_providers.troupe=${entry}`]
  ];
}
