import { describe, expect, test } from 'vitest';
import type {
  Access,
  EngineRequest,
  McpServer,
  Surroundings
} from '../src/plugin/plugin.ts';
import copilot from './copilot.ts';

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

function connected(access: Access, more: Partial<Surroundings> = {}) {
  return copilot.connect(server, directory, {
    request: { ...request, access },
    inTerminal: true,
    environment: { HOME: '/home/me' },
    read: () => undefined,
    ...more
  });
}

describe('connection', () => {
  const common = [
    '--additional-mcp-config=@/project/worker/mcp.json',
    '--disable-mcp-server=agents',
    '--allow-tool=agents-worker(wait_for_command)',
    '--allow-tool=agents-worker(emit_event)'
  ];
  const offered =
    '--available-tools=agents-worker-wait_for_command,agents-worker-emit_event';

  test.each([
    ['read', [...common, offered]],
    ['write', [...common, offered]],
    ['full', common]
  ] as const)('with access %s it adds two tools', (access, args) => {
    expect(connected(access).args).toEqual(args);
  });

  test('the server is in a file, because its variables are private', () => {
    const text = connected('read').files?.['mcp.json'] ?? '';
    expect(JSON.parse(text)).toEqual({
      mcpServers: {
        'agents-worker': {
          type: 'local',
          command: 'node',
          args: ['/project/troupe.cjs', 'mcp', '--agent-id', 'a-1'],
          env: { TROUPE_CONFIG: '한국어 "x"' },
          tools: ['wait_for_command', 'emit_event'],
          timeout: 90_000
        }
      }
    });
  });

  test.each(['read', 'write'] as const)(
    'with access %s, a setting of this start keeps a terminal from asking',
    (access) => {
      const settings = '{ // mine\n"theme": "dim", "permissions": {"x": 1} }';
      const path = '/home/me/.copilot/settings.json';
      const { env, files, links } = connected(access, {
        read: (asked) => (asked === path ? settings : undefined)
      });
      expect(env).toEqual({ COPILOT_HOME: '/project/worker/home' });
      expect(links).toEqual({ home: '/home/me/.copilot' });
      expect(JSON.parse(files?.['home/settings.json'] ?? '')).toEqual({
        theme: 'dim',
        permissions: { x: 1, disableBypassPermissionsMode: 'disable' }
      });
    }
  );

  test('a home directory that the user has moved is used', () => {
    const environment = { HOME: '/home/me', COPILOT_HOME: '/elsewhere' };
    expect(connected('read', { environment }).links).toEqual({
      home: '/elsewhere'
    });
  });

  test.each([
    ['read', false],
    ['full', true],
    ['full', false]
  ] as const)(
    'the home is the user’s: access %s, in a terminal: %s',
    (access, inTerminal) => {
      const connection = connected(access, { inTerminal });
      expect(Object.keys(connection)).toEqual(['args', 'files']);
      expect(Object.keys(connection.files ?? {})).toEqual(['mcp.json']);
    }
  );
});

describe('in a terminal', () => {
  const argsFor = (more: Partial<EngineRequest>) =>
    copilot.interactive.args({ ...request, ...more });

  test('the prompt is one argument, with the role before it', () => {
    expect(argsFor({}).at(-1)).toBe('--interactive=You are "w1".\n작업');
    expect(argsFor({ systemPrompt: 'Be kind.' }).at(-1)).toBe(
      '--interactive=Be kind.\n\nYou are "w1".\n작업'
    );
  });

  test.each([
    ['read', ['--mode=autopilot']],
    ['write', ['--mode=autopilot']],
    ['full', ['--mode=interactive', '--no-ask-user']]
  ] as const)('access %s is limited as in the background', (access, mode) => {
    // The first three arguments set the output format.
    const [, , , ...permissions] = copilot.args({ ...request, access });
    expect(argsFor({ access }).slice(0, -1)).toEqual([...permissions, ...mode]);
  });

  test('names a model and a session if there is one', () => {
    const args = argsFor({ model: 'auto', sessionId: '--allow-all' });
    expect(args.slice(4, -1)).toEqual([
      '--model',
      'auto',
      '--resume=--allow-all'
    ]);
    const id = '00000000-0000-4000-8000-000000000001';
    expect(argsFor({ newSessionId: id })).toContain(`--session-id=${id}`);
  });

  test('no prompt asks whether the directory is trusted', () => {
    expect(copilot.interactive.env?.(request)).toEqual({
      COPILOT_ALLOW_ALL: 'true'
    });
  });
});
