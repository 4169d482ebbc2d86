import type { ModelServer } from '../model-server/server.ts';
import { documentedConfig, replaced } from './client-config.ts';
import { claude, codex, copilot, geminiCli, type RealCli } from './clis.ts';

/** A real CLI as the MCP client of our server. */
export interface Client {
  title: string;
  cli: RealCli;
  /** The name its model knows one of our tools by. */
  nameOf: (tool: string) => string;
  /** Where it reads which servers there are; below `home` or the workspace. */
  config: { file: string; in: 'home' | 'workspace' };
  /** The example of docs/start/clients.md, with our server's arguments. */
  example: (args: string[]) => string;
  /** The same, with a limit of its own for one call. */
  impatient: (example: string, seconds: number) => string;
  /** Whether a key that the example names reaches our server. */
  handsKeyOn: boolean;
  args: (model: ModelServer) => string[];
  env: (model: ModelServer) => Record<string, string>;
  /** What its model said last. */
  answerIn: (events: ClientEvent[]) => string;
}

/** A line of a client's output, as far as we read it. */
export interface ClientEvent {
  type?: string;
  role?: string;
  content?: string;
  result?: string;
  item?: { type?: string; text?: string };
  data?: { content?: string };
}

export const claudeClient: Client = {
  title: 'claude',
  cli: claude,
  nameOf: (tool) => `mcp__agents__${tool}`,
  config: { file: '.mcp.json', in: 'workspace' },
  example: (args) => documentedConfig('Claude Code', 'json', args),
  impatient: (example, seconds) =>
    replaced(example, /"command"/g, `"timeout": ${1000 * seconds}, "command"`),
  handsKeyOn: true,
  args: () => [
    '-p',
    ...['--output-format', 'stream-json', '--verbose'],
    '--dangerously-skip-permissions'
  ],
  env: ({ url }) => ({ ANTHROPIC_BASE_URL: url, IS_SANDBOX: '1' }),
  answerIn: (events) =>
    String(events.find(({ type }) => type === 'result')?.result)
};

export const codexClient: Client = {
  title: 'codex',
  cli: codex,
  nameOf: (tool) => `mcp__agents/${tool}`,
  config: { file: '.codex/config.toml', in: 'home' },
  // `codex exec` can ask no one, and refuses a tool that needs approval.
  example: (args) =>
    replaced(
      documentedConfig('Codex', 'toml', args),
      /default_tools_approval_mode = "prompt"/g,
      'default_tools_approval_mode = "approve"'
    ),
  impatient: (example, seconds) =>
    replaced(
      example,
      /tool_timeout_sec = \d+/g,
      `tool_timeout_sec = ${seconds}`
    ),
  handsKeyOn: true,
  args: ({ url }) => [
    'exec',
    ...['--json', '--skip-git-repo-check'],
    ...['-c', `openai_base_url=${JSON.stringify(url)}`]
  ],
  env: () => ({}),
  answerIn: (events) =>
    events.findLast(({ item }) => item?.type === 'agent_message')?.item?.text ??
    ''
};

/** Codex offers a model that it does not know its tools one by one. */
export const plainCodexClient: Client = {
  ...codexClient,
  title: 'codex with a model it does not know',
  args: (model) => [...codexClient.args(model), '-c', 'model="some-model"']
};

export const copilotClient: Client = {
  title: 'copilot',
  cli: copilot,
  nameOf: (tool) => `agents-${tool}`,
  config: { file: '.copilot/mcp-config.json', in: 'home' },
  example: (args) => documentedConfig('Copilot CLI', 'json', args),
  impatient: (example, seconds) =>
    replaced(example, /"command"/g, `"timeout": ${1000 * seconds}, "command"`),
  handsKeyOn: false,
  args: () => ['--output-format', 'json', '--allow-all', '--no-color'],
  env: ({ url }) => ({ COPILOT_PROVIDER_BASE_URL: url }),
  answerIn: (events) =>
    events.findLast(({ type }) => type === 'assistant.message')?.data
      ?.content ?? ''
};

export const geminiClient: Client = {
  title: 'gemini-cli',
  cli: geminiCli,
  nameOf: (tool) => `mcp_agents_${tool}`,
  config: { file: '.gemini/settings.json', in: 'workspace' },
  example: (args) => documentedConfig('Gemini CLI', 'json', args),
  impatient: (example, seconds) =>
    replaced(example, /"timeout": \d+/g, `"timeout": ${1000 * seconds}`),
  handsKeyOn: true,
  args: () => ['-o', 'stream-json', '--approval-mode', 'yolo'],
  env: ({ url }) => ({
    GOOGLE_GEMINI_BASE_URL: url,
    GEMINI_CLI_TRUST_WORKSPACE: 'true'
  }),
  answerIn: (events) => {
    const last = events.findLastIndex(({ type }) => type === 'tool_result');
    return events
      .slice(last + 1)
      .filter(({ role }) => role === 'assistant')
      .map(({ content }) => content)
      .join('');
  }
};

export const allClients = [
  claudeClient,
  codexClient,
  copilotClient,
  geminiClient
];
