import { describe, expect, test } from 'vitest';
import type {
  EngineRequest,
  McpServer,
  Surroundings
} from '../src/plugin/plugin.ts';
import claude from './claude.ts';

const request: EngineRequest = {
  prompt: '-- Wait for\n"work".',
  access: 'full',
  cwd: '/project',
  asRoot: true
};

const server: McpServer = {
  name: 'agents',
  command: '/usr/bin/node',
  args: ['troupe.cjs', 'mcp'],
  env: { SECRET: 'x' },
  tools: ['wait_for_command', 'emit_event'],
  callSeconds: 60
};

const surroundings: Surroundings = {
  request,
  inTerminal: false,
  environment: {},
  read: () => undefined
};

function connect(changes: Partial<Surroundings> = {}) {
  return claude.connect(server, '/private', { ...surroundings, ...changes });
}

describe('a connection', () => {
  test('is the only server, and its tools need no confirmation', () => {
    expect(connect().args).toEqual([
      '--mcp-config=/private/mcp.json',
      '--strict-mcp-config',
      '--allowedTools=mcp__agents__wait_for_command,mcp__agents__emit_event'
    ]);
  });

  test('is in a file, because the server may get secret variables', () => {
    const { files } = connect();
    expect(Object.keys(files ?? {})).toEqual(['mcp.json']);
    expect(JSON.parse(files?.['mcp.json'] ?? '')).toEqual({
      mcpServers: {
        agents: {
          type: 'stdio',
          command: '/usr/bin/node',
          args: ['troupe.cjs', 'mcp'],
          env: { SECRET: 'x' },
          timeout: 60_000,
          alwaysLoad: true
        }
      }
    });
  });

  test('keeps a long call in the foreground', () => {
    expect(connect().env).toEqual({ CLAUDE_CODE_MCP_AUTO_BACKGROUND_MS: '0' });
  });

  test('accepts in a terminal that all permissions are skipped', () => {
    const { args, files } = connect({ inTerminal: true });
    expect(args.at(-1)).toBe('--settings=/private/settings.json');
    expect(JSON.parse(files?.['settings.json'] ?? '')).toEqual({
      skipDangerousModePermissionPrompt: true
    });
  });

  test('passes a key to a terminal so that no prompt asks for it', () => {
    const { env, files } = connect({
      inTerminal: true,
      request: { ...request, access: 'read' },
      environment: { ANTHROPIC_API_KEY: 'key' }
    });
    expect(env).toMatchObject({
      ANTHROPIC_API_KEY: '',
      TROUPE_CLAUDE_KEY: 'key'
    });
    expect(JSON.parse(files?.['settings.json'] ?? '')).toEqual({
      apiKeyHelper: 'printf %s "$TROUPE_CLAUDE_KEY"'
    });
  });

  test('has no settings if Claude would ask no question', () => {
    const { args, env, files } = connect({
      inTerminal: true,
      request: { ...request, access: 'write' }
    });
    expect(args.join(' ')).not.toContain('--settings');
    expect(env).not.toHaveProperty('ANTHROPIC_API_KEY');
    expect(files).not.toHaveProperty('settings.json');
  });
});

describe('in a terminal', () => {
  const { interactive } = claude;

  test('the prompt is the last argument and never a flag', () => {
    expect(interactive.args(request)).toEqual([
      '--model',
      'sonnet',
      '--tools',
      'ToolSearch,Bash,Read,Write,Edit,Glob,Grep',
      '--dangerously-skip-permissions',
      '--',
      '-- Wait for\n"work".'
    ]);
  });

  test.each([
    ['read', 'ToolSearch,Read,Glob,Grep', []],
    [
      'write',
      'ToolSearch,Read,Write,Edit,Glob,Grep',
      ['--allowedTools=Edit(./**)']
    ]
  ] as const)('%s access asks nobody', (access, tools, more) => {
    const args = interactive.args({ ...request, access });
    expect(args.slice(2, -2)).toEqual([
      '--tools',
      tools,
      '--permission-mode',
      'dontAsk',
      ...more
    ]);
  });

  test('a system prompt has its flag, unless a session continues', () => {
    const briefed = { ...request, model: 'opus', systemPrompt: 'Be brief.' };
    expect(interactive.args(briefed).slice(-4, -1)).toEqual([
      '--append-system-prompt',
      'Be brief.',
      '--'
    ]);
    const resumed = { ...briefed, sessionId: 'id' };
    expect(interactive.args(resumed).slice(-3)).toEqual([
      '--resume=id',
      '--',
      `Be brief.\n\n${request.prompt}`
    ]);
  });

  test('Claude neither asks about the directory nor updates itself', () => {
    expect(interactive.env()).toEqual({
      CLAUDE_CODE_SANDBOXED: '1',
      DISABLE_AUTOUPDATER: '1'
    });
  });
});
