import { describe, expect, test } from 'vitest';
import type {
  EngineRequest,
  McpServer,
  Surroundings
} from '../src/plugin/plugin.ts';
import geminiCli from './gemini-cli.ts';

const server: McpServer = {
  name: 'agents',
  command: 'node',
  args: ['/project/troupe.cjs', 'mcp', '--agent-id', 'a-1'],
  env: { TROUPE_CONFIG: '한국어 "x"' },
  tools: ['wait_for_command', 'emit_event'],
  callSeconds: 90
};
const request: EngineRequest = {
  prompt: 'You are "w1".\n작업',
  access: 'full',
  cwd: '/project',
  asRoot: false
};
const directory = '/project/worker';

function connected(files: Record<string, string> = {}, more: object = {}) {
  const surroundings: Surroundings = {
    request,
    inTerminal: true,
    environment: { HOME: '/home/me' },
    read: (path) => files[path],
    ...more
  };
  return geminiCli.connect(server, directory, surroundings);
}

function settingsFrom(theirs?: object | string): Record<string, unknown> {
  const text = typeof theirs === 'object' ? JSON.stringify(theirs) : theirs;
  const read = text === undefined ? {} : { [userSettings]: text };
  const { files = {} } = connected(read);
  return JSON.parse(files['home/.gemini/settings.json'] ?? '');
}

const userSettings = '/home/me/.gemini/settings.json';
const ours = {
  general: { enableAutoUpdate: false },
  model: { disableLoopDetection: true, maxSessionTurns: -1 },
  mcp: { excluded: ['agents'] },
  mcpServers: {
    'agents-worker': {
      command: 'node',
      args: ['/project/troupe.cjs', 'mcp', '--agent-id', 'a-1'],
      env: { TROUPE_CONFIG: '한국어 "x"' },
      timeout: 90_000,
      includeTools: ['wait_for_command', 'emit_event']
    }
  }
};

describe('connection', () => {
  test('has a home of its own, in which all but the settings links to the user’s', () => {
    const { args, env, files, links } = connected();
    expect(args).toEqual(['--admin-policy=/project/worker/worker.toml']);
    expect(env).toEqual({ GEMINI_CLI_HOME: '/project/worker/home' });
    expect(Object.keys(files ?? {})).toEqual([
      'worker.toml',
      'home/.gemini/settings.json'
    ]);
    expect(links).toEqual({
      'home/.gemini': '/home/me/.gemini',
      'home/.agents': '/home/me/.agents',
      'home/.env': '/home/me/.env'
    });
  });

  test('is the same in the background, except for a run that asks', () => {
    expect(connected({}, { inTerminal: false })).toEqual(connected());
    const asks: EngineRequest = { ...request, access: 'read', asks: true };
    const { args, env } = connected({}, { inTerminal: false, request: asks });
    expect(args).toEqual(['--admin-policy=/project/worker/asks.toml']);
    expect(env).toBeUndefined();
  });

  test('a home directory that the user has moved is used', () => {
    const environment = { HOME: '/home/me', GEMINI_CLI_HOME: '/elsewhere' };
    const { links } = connected({}, { environment });
    expect(links).toMatchObject({ 'home/.gemini': '/elsewhere/.gemini' });
  });

  test('the server is added, and a server of its name is excluded', () => {
    expect(settingsFrom()).toEqual(ours);
    const other = { command: 'other' };
    const theirs = {
      security: { auth: { selectedType: 'oauth-personal' } },
      general: { vimMode: true },
      model: { name: 'pro', maxSessionTurns: 5 },
      mcp: { excluded: ['slow'], allowed: ['other'] },
      mcpServers: { other, agents: { command: 'troupe' } }
    };
    expect(settingsFrom(theirs)).toEqual({
      security: theirs.security,
      general: { vimMode: true, ...ours.general },
      model: { name: 'pro', ...ours.model },
      mcp: {
        excluded: ['slow', 'agents'],
        allowed: ['other', 'agents-worker']
      },
      mcpServers: { ...theirs.mcpServers, ...ours.mcpServers }
    });
  });

  test('settings with comments are read, and invalid settings are unchanged', () => {
    expect(settingsFrom('{ // mine\n"ui": {"theme": "Dark"} }')).toEqual({
      ui: { theme: 'Dark' },
      ...ours
    });
    const { files } = connected({ [userSettings]: '{ broken' });
    expect(files?.['home/.gemini/settings.json']).toBe('{ broken');
  });

  test('the two tools are allowed, and tools that would ask a person are not', () => {
    const policy = connected().files?.['worker.toml'] ?? '';
    const [first = '', second = '', third] = policy.split(/\n(?=\[\[rule\]\])/);
    expect(first).toBe(
      '[[rule]]\ndecision = "allow"\npriority = 999\ntoolName = ["wait_for_command","emit_event"]\nmcpName = "agents-worker"\n'
    );
    expect(second).toContain('decision = "deny"');
    expect(second).toContain('"ask_user"');
    expect(third).toBe(
      '[[rule]]\ndecision = "deny"\npriority = 1\ntoolName = ["*"]\ninteractive = true\nmodes = ["default","autoEdit"]\n'
    );
  });
});

describe('in a terminal', () => {
  const argsFor = (more: Partial<EngineRequest>) =>
    geminiCli.interactive.args({ ...request, ...more });

  test('the prompt is one argument, with the role before it', () => {
    expect(argsFor({})).toEqual([
      ...['--approval-mode', 'yolo'],
      '--prompt-interactive=You are "w1".\n작업'
    ]);
    expect(argsFor({ systemPrompt: 'Be kind.' }).at(-1)).toBe(
      '--prompt-interactive=Be kind.\n\nYou are "w1".\n작업'
    );
  });

  test.each(['read', 'write', 'full'] as const)(
    'access %s is limited as in the background',
    (access) => {
      const background = geminiCli.args({ ...request, access });
      const permissions = background.slice(
        background.indexOf('--approval-mode')
      );
      expect(argsFor({ access }).slice(0, -1)).toEqual(permissions);
    }
  );

  test('names a model and a session if there is one', () => {
    const args = argsFor({ model: 'flash', sessionId: '--yolo' });
    expect(args.slice(2, -1)).toEqual(['--model', 'flash', '--resume=--yolo']);
  });
});
