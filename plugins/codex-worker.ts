import type {
  Connection,
  EngineRequest,
  Interactive,
  McpServer,
  Surroundings
} from '../src/plugin.ts';
import { briefedPrompt, briefsByPrompt } from './brief.ts';

/** A setting for one start. */
export function setting(name: string, value: string): string[] {
  return ['-c', `${name}=${tomlString(value)}`];
}

export function sandbox({ access }: EngineRequest): string[] {
  if (access === 'full') return ['--dangerously-bypass-approvals-and-sandbox'];
  return ['-s', access === 'write' ? 'workspace-write' : 'read-only'];
}

/**
 * A server of the same name in the user's configuration is not replaced but
 * overlaid, member by member, so everything that would limit ours is named.
 */
export function connect(
  server: McpServer,
  _directory: string,
  surroundings: Surroundings
): Connection {
  const approve = table({ approval_mode: tomlString('approve') });
  const entry = table({
    command: tomlString(server.command),
    args: list(server.args),
    // By name: arguments can be read by everybody on the machine.
    env_vars: list(Object.keys(server.env)),
    enabled: 'true',
    // Else it works without, and the model only lacks the tools.
    required: 'true',
    startup_timeout_sec: '60',
    tool_timeout_sec: String(server.callSeconds),
    enabled_tools: list(server.tools),
    disabled_tools: '[]',
    default_tools_approval_mode: tomlString('approve'),
    tools: table(
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

/** Nobody is there to answer it. */
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
      // Else it asks whether the directory is trusted.
      '-c',
      `projects=${table({ [cwd]: table({ trust_level: tomlString('trusted') }) })}`,
      ...['-c', 'check_for_update_on_startup=false'],
      // Codex counts in the user's configuration how often it showed one.
      ...['-c', 'tui.show_tooltips=false'],
      ...(sessionId ? ['resume', '--', sessionId] : ['--']),
      briefedPrompt(request)
    ];
  }
} satisfies Interactive;

/**
 * In a terminal it does not know of a key in a variable, and asks for a
 * login, unless a provider names the variable.
 */
function keyProvider({ environment, request }: Surroundings): string[] {
  if (!environment.CODEX_API_KEY) return [];
  const entry = table({
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

function table(members: Record<string, string>): string {
  const pairs = Object.entries(members).map(
    ([name, value]) => `${tomlString(name)}=${value}`
  );
  return `{${pairs.join(',')}}`;
}

function list(values: string[]): string {
  return `[${values.map(tomlString).join(',')}]`;
}

/** JSON's escapes are TOML's, but for DEL and for halves of a character. */
function tomlString(value: string): string {
  const wellFormed = Buffer.from(value).toString();
  return JSON.stringify(wellFormed).replaceAll('\u007f', '\\u007f');
}
