import { describe, expect, test } from 'vitest';
import type {
  EngineRequest,
  McpServer,
  Surroundings
} from '../src/plugin/plugin.ts';
import codex from './codex.ts';

const request: EngineRequest = {
  prompt: '-- Wait for\n"work".',
  access: 'full',
  cwd: '/my "project"',
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
  inTerminal: true,
  environment: {},
  read: () => undefined
};

function connect(changes: Partial<Surroundings> = {}) {
  return codex.connect(server, '/private', { ...surroundings, ...changes });
}

describe('a connection', () => {
  const entry = [
    '"command"="/usr/bin/node"',
    '"args"=["troupe.cjs","mcp"]',
    '"env_vars"=["SECRET"]',
    '"enabled"=true',
    '"required"=true',
    '"startup_timeout_sec"=60',
    '"tool_timeout_sec"=60',
    '"enabled_tools"=["wait_for_command","emit_event"]',
    '"disabled_tools"=[]',
    '"default_tools_approval_mode"="approve"',
    '"tools"={"wait_for_command"={"approval_mode"="approve"},' +
      '"emit_event"={"approval_mode"="approve"}}'
  ];

  test('sets every key that the user’s configuration could limit', () => {
    const setting = `mcp_servers.agents={${entry.join(',')}}`;
    expect(connect().args).toEqual(['-c', setting]);
  });

  test('passes variables by name, because every user can read arguments', () => {
    expect(connect().env).toEqual({ SECRET: 'x' });
  });

  test('names a provider for a key, which a terminal would ignore', () => {
    const environment = { CODEX_API_KEY: 'key' };
    expect(connect({ environment }).args.slice(2)).toEqual([
      '-c',
      'model_provider="troupe"',
      '-c',
      'model_providers.troupe={"name"="OpenAI",' +
        '"base_url"="https://api.openai.com/v1",' +
        '"env_key"="CODEX_API_KEY","wire_api"="responses"}'
    ]);
    const elsewhere = { ...request, baseUrl: 'http://127.0.0.1:8080/v1' };
    const args = connect({ environment, request: elsewhere }).args;
    expect(args.at(-1)).toContain('"base_url"="http://127.0.0.1:8080/v1"');
    expect(connect({ environment, inTerminal: false }).args).toHaveLength(2);
  });
});

describe('a run that asks', () => {
  const asking: EngineRequest = { ...request, access: 'write', asks: true };
  const bridge: McpServer = {
    ...server,
    name: 'troupe-ask',
    command: '/my node',
    args: ['/bridge.cjs', "/its 'folder'"],
    env: {},
    tools: ['ask_coordinator']
  };
  const connected = (changes: Partial<EngineRequest> = {}) =>
    codex.connect(bridge, '/private', {
      ...surroundings,
      inTerminal: false,
      request: { ...asking, ...changes }
    });

  test('has a trusted hook, whose paths are variables', () => {
    const { args, env } = connected();
    expect(env).toEqual({
      TROUPE_ASK_NODE: '/my node',
      TROUPE_ASK_BRIDGE: '/bridge.cjs',
      TROUPE_ASK_FOLDER: "/its 'folder'"
    });
    const hook = args.find((word) => word.startsWith('hooks.Permission'));
    expect(hook).not.toContain('folder');
    // What Codex 0.169.0 lists for this hook.
    expect(args).toContain(
      `hooks.state={"/<session-flags>/config.toml:permission_request:0:0"={"enabled"=true,"trusted_hash"="sha256:e5ec0bb635ea00cdbb7a5576308c6426ee548b7ac45a7694c9976ccd5c2ddad0"}}`
    );
  });

  test('has no other way to a permission than the hook', () => {
    const { args } = connected();
    expect(args).toContain('features.hooks=true');
    expect(args).toContain('features.request_permissions_tool=false');
    expect(args.join()).toContain('auto_review.policy=');
    expect(codex.args(asking)).toContain('--approve-for-me');
    expect(codex.args(asking)).not.toContain('-s');
  });

  test.each([
    ['/tmp/home/asks', {}],
    ['/var/x/asks', { TMPDIR: '/var/x/' }]
  ])('cannot write to its asks in %s', (folder, environment) => {
    const args = (at: string) =>
      codex
        .connect({ ...bridge, args: ['/bridge.cjs', at] }, '/private', {
          ...surroundings,
          inTerminal: false,
          environment,
          request: asking
        })
        .args.join();
    expect(args(folder)).toContain('exclude_slash_tmp=true');
    expect(args(folder)).toContain('exclude_tmpdir_env_var=true');
    expect(args('/home/me/asks')).not.toContain('exclude');
  });

  test('only has questions with full access', () => {
    const { args, env } = connected({ access: 'full' });
    expect(args.join()).not.toContain('hooks');
    expect(env).toEqual({});
  });
});

describe('in a terminal', () => {
  const { interactive } = codex;

  test('the prompt is the last argument and never a flag', () => {
    expect(interactive.args(request)).toEqual([
      '--dangerously-bypass-approvals-and-sandbox',
      '-C',
      '/my "project"',
      '-c',
      'projects={"/my \\"project\\""={"trust_level"="trusted"}}',
      '-c',
      'check_for_update_on_startup=false',
      '-c',
      'tui.show_tooltips=false',
      '--',
      '-- Wait for\n"work".'
    ]);
  });

  test.each([
    ['read', 'read-only'],
    ['write', 'workspace-write']
  ] as const)('%s access has its sandbox and never asks', (access, sandbox) => {
    const args = interactive.args({ ...request, access });
    expect(args.slice(0, 4)).toEqual(['-s', sandbox, '-a', 'never']);
  });

  test('model, address and brief are passed as for a run', () => {
    const args = interactive.args({
      ...request,
      model: 'm',
      baseUrl: 'http://127.0.0.1:8080/v1',
      systemPrompt: 'Say "no".'
    });
    expect(args.slice(3, 9)).toEqual([
      '-m',
      'm',
      '-c',
      'openai_base_url="http://127.0.0.1:8080/v1"',
      '-c',
      'developer_instructions="Say \\"no\\"."'
    ]);
  });

  test('a session continues, with its brief before the prompt', () => {
    const args = interactive.args({
      ...request,
      sessionId: '--last',
      systemPrompt: 'Be brief.'
    });
    expect(args.slice(-4)).toEqual([
      'resume',
      '--',
      '--last',
      `Be brief.\n\n${request.prompt}`
    ]);
  });

  test('a screen that asks how to sign in names what is missing', () => {
    const screen = '> 1. Sign in with ChatGPT\n  2. Sign in with Device Code';
    expect(codex.failure(screen)).toBe('not_logged_in');
  });
});
