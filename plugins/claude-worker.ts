import { join } from 'node:path';
import type {
  Access,
  Connection,
  EngineRequest,
  Interactive,
  McpServer,
  Surroundings
} from '../src/plugin/plugin.ts';
import { briefedPrompt, briefsByPrompt } from './shared/brief.ts';

/** Tools beyond an access that a run may ask for. */
export const askable = ['Bash', 'Write', 'Edit', 'WebFetch', 'WebSearch'];

/** Claude's own tools, by access. */
export function tools(access: Access): string[] {
  if (access === 'read') return ['Read', 'Glob', 'Grep'];
  const editing = ['Read', 'Write', 'Edit', 'Glob', 'Grep'];
  return access === 'full' ? ['Bash', ...editing] : editing;
}

/**
 * Connects this server only, whatever servers user and project have. A run that
 * asks keeps them, as a run without a connection does.
 */
export function connect(
  server: McpServer,
  directory: string,
  surroundings: Surroundings
): Connection {
  const { name, command, args, env, callSeconds } = server;
  const { request } = surroundings;
  const entry = {
    type: 'stdio',
    ...{ command, args, env },
    timeout: 1000 * callSeconds,
    // Otherwise the model has to search for the tools first.
    alwaysLoad: true
  };
  const names = server.tools.map((tool) => `mcp__${name}__${tool}`);
  const answers = surroundings.inTerminal ? answersFor(surroundings) : {};
  const hasAnswers = Object.keys(answers).length > 0;
  return {
    args: [
      // With "=", because these flags consume all words after them.
      `--mcp-config=${join(directory, 'mcp.json')}`,
      ...(request.asks ? asking(name, request) : ['--strict-mcp-config']),
      `--allowedTools=${names.join(',')}`,
      ...(hasAnswers ? [`--settings=${join(directory, 'settings.json')}`] : [])
    ],
    env: {
      // Otherwise long calls are moved to the background and answered later.
      CLAUDE_CODE_MCP_AUTO_BACKGROUND_MS: '0',
      ...(surroundings.inTerminal ? keyFor(surroundings) : {})
    },
    files: {
      'mcp.json': JSON.stringify({ mcpServers: { [name]: entry } }),
      ...(hasAnswers ? { 'settings.json': JSON.stringify(answers) } : {})
    }
  };
}

/** With full access there is nothing to ask for but questions. */
function asking(server: string, { access }: EngineRequest): string[] {
  return access === 'full'
    ? []
    : [`--permission-prompt-tool=mcp__${server}__permission`];
}

/** No person can answer its questions: every request is refused or granted. */
export const interactive = {
  args(request) {
    const { access, model, sessionId, systemPrompt } = request;
    return [
      ...['--model', model ?? 'sonnet'],
      // In a terminal, the first request does not wait for the server. With
      // ToolSearch, a model learns that more tools follow, and can wait.
      ...['--tools', ['ToolSearch', ...tools(access)].join(',')],
      ...permissions(access),
      ...(systemPrompt && !briefsByPrompt(request)
        ? ['--append-system-prompt', systemPrompt]
        : []),
      ...(sessionId ? [`--resume=${sessionId}`] : []),
      ...['--', briefedPrompt(request)]
    ];
  },

  env: () => ({
    // Otherwise Claude asks whether a new directory is trusted, which `-p`
    // does not: the host decides where agents work.
    CLAUDE_CODE_SANDBOXED: '1',
    DISABLE_AUTOUPDATER: '1'
  })
} satisfies Interactive;

function permissions(access: Access): string[] {
  if (access === 'full') return ['--dangerously-skip-permissions'];
  // "acceptEdits" asks before any action outside the directory.
  const edits = access === 'write' ? ['--allowedTools=Edit(./**)'] : [];
  return ['--permission-mode', 'dontAsk', ...edits];
}

/** Settings that answer the questions Claude asks only in a terminal. */
function answersFor({ request, environment }: Surroundings): object {
  return {
    ...(request.access === 'full'
      ? { skipDangerousModePermissionPrompt: true }
      : {}),
    // `-p` uses a key in ANTHROPIC_API_KEY; a terminal asks about it first.
    ...(environment.ANTHROPIC_API_KEY
      ? { apiKeyHelper: `printf %s "$${KEY}"` }
      : {})
  };
}

function keyFor({ environment }: Surroundings): Record<string, string> {
  const key = environment.ANTHROPIC_API_KEY;
  return key ? { ANTHROPIC_API_KEY: '', [KEY]: key } : {};
}

const KEY = 'TROUPE_CLAUDE_KEY';
