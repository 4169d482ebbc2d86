import { cpSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Recording } from '../../kit/agents/recordings.ts';
import { standIn } from '../../kit/agents/stand-in.ts';
import { packageRoot } from '../../kit/judges/documents.ts';
import { type McpClient, startServer } from '../../kit/servers/mcp-client.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../kit/workspaces/temp-workspace.ts';

const examples = join(packageRoot, 'examples');
const names = readdirSync(examples, { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => name);

let workspace: TempWorkspace;
let server: McpClient | undefined;

beforeEach(() => {
  workspace = createTempWorkspace();
  server = undefined;
});

afterEach(async () => {
  await server?.close();
  expect(server?.impurities ?? []).toEqual([]);
  workspace.remove();
});

/** The example as a user has it: copied, with its own configuration. */
async function start(name: string) {
  cpSync(join(examples, name), workspace.path, { recursive: true });
  server = await startServer(workspace, { flags: ['--strict'] });
}

async function run(name: string, more: Record<string, unknown> = {}) {
  const tool = `spawn_${name.replaceAll('-', '_')}`;
  const spawned = await server?.call(tool, { prompt: 'Say hi', ...more });
  expect(spawned?.data.status, spawned?.text).toBe('running');
  const agent_id = spawned?.data.agent_id;
  await server?.call('wait_for_agents', { agent_ids: [agent_id] });
  return (await server?.call('result', { agent_id }))?.data ?? {};
}

function recordings(name: string): Recording[] {
  const fixtures = join(examples, name, 'fixtures');
  return readdirSync(fixtures).map((file) =>
    JSON.parse(readFileSync(join(fixtures, file), 'utf8'))
  );
}

test('every example is listed, short to read, and tested', () => {
  expect(names.sort()).toEqual(['aider', 'curl-model', 'opencode', 'qwen']);
  const list = readFileSync(join(examples, 'README.md'), 'utf8');
  for (const name of names) {
    const readme = readFileSync(join(examples, name, 'README.md'), 'utf8');
    expect(readme.split('\n').length - 1, name).toBeLessThanOrEqual(25);
    expect(list).toContain(`(${name}/README.md)`);
  }
});

const answers: Record<string, string> = {
  success: 'All done.',
  'tool-write': 'Wrote it.',
  'read-denied': 'I could not.',
  'resume-first': 'One.',
  'resume-second': 'Two.'
};

const failures: Record<string, Record<string, string>> = {
  opencode: {
    'dropped-stream': 'network',
    killed: 'interrupted',
    'max-tokens': 'output_limit',
    refusal: 'content_refused',
    'status-400': 'provider_error',
    'status-401': 'auth',
    'unknown-session': 'spawn_failed'
  },
  qwen: {
    'empty-answer': 'provider_error',
    killed: 'interrupted',
    'not-logged-in': 'not_logged_in',
    'status-400': 'provider_error',
    'status-401': 'auth',
    'unknown-session': 'spawn_failed'
  }
};

describe.each(Object.keys(failures))('%s', (name) => {
  test('reads every recording of the real program as what it was', async () => {
    const program = standIn(workspace, name);
    await start(name);
    const seen: Record<string, unknown> = {};
    for (const { case: kind, stdout, stderr, exitCode } of recordings(name)) {
      // One that was killed has no exit code of its own.
      program.says(stdout, exitCode ?? 143, stderr);
      const { status, result, error_code } = await run(name);
      seen[kind] = status === 'completed' ? result : error_code;
    }
    expect(seen).toEqual({ ...answers, ...failures[name] });
  });

  test('takes no output for an answer that ends too early', async () => {
    const program = standIn(workspace, name);
    await start(name);
    const success = recordings(name).find((one) => one.case === 'success');
    const lines = (success?.stdout ?? '').trimEnd().split('\n');
    for (let kept = 0; kept < lines.length; kept += 1) {
      program.says(`${lines.slice(0, kept).join('\n')}\n`);
      expect(await run(name)).toMatchObject({ status: 'failed' });
    }
    program.says(success?.stdout ?? '', 1);
    expect(await run(name)).toMatchObject({ status: 'failed' });
  });

  test('goes on with its session, and keeps to its access', async () => {
    const program = standIn(workspace, name);
    const [first] = recordings(name).filter((one) => one.case === 'success');
    program.says(first?.stdout ?? '');
    await start(name);
    const { agent_id, session_id } = await run(name, { access: 'read' });
    const read = program.seen();
    const next = { agent_id, prompt: 'Go on' };
    const { data } = (await server?.call('continue_agent', next)) ?? {};
    await server?.call('wait_for_agents', { agent_ids: [data?.agent_id] });
    const { argv, env, stdin } = program.seen();
    expect(argv.at(-1)).toMatch(
      new RegExp(`^--(resume|session)=${session_id}$`)
    );
    expect(argv.slice(0, -1)).toEqual(read.argv);
    expect(env.OPENCODE_PERMISSION).toBe(read.env.OPENCODE_PERMISSION);
    expect(stdin.toString()).toBe('Go on');
  });
});

test('opencode takes away by its environment what it may not use', async () => {
  const program = standIn(workspace, 'opencode');
  const [success] = recordings('opencode').filter(
    (one) => one.case === 'success'
  );
  program.says(success?.stdout ?? '');
  await start('opencode');
  const deny = { bash: 'deny', task: 'deny', external_directory: 'deny' };
  for (const [access, permission] of [
    ['read', { ...deny, edit: 'deny' }],
    ['write', deny]
  ] as const) {
    await run('opencode', { access });
    const { argv, env } = program.seen();
    expect(argv).not.toContain('--auto');
    expect(JSON.parse(env.OPENCODE_PERMISSION ?? '')).toEqual(permission);
  }
});

test('aider is given the prompt in a file, and its text is the answer', async () => {
  const program = standIn(workspace, 'aider');
  program.says('Aider v0\nI added a docstring.\n');
  await start('aider');
  expect(await run('aider', { access: 'write' })).toMatchObject({
    status: 'completed',
    result: 'Aider v0\nI added a docstring.'
  });
  const { argv, stdin } = program.seen();
  expect(argv.slice(0, 2)).toEqual(['--message-file', '/dev/stdin']);
  expect(argv).toContain('--no-auto-commits');
  expect(stdin.toString()).toBe('Say hi');
  program.says('', 2, 'aider: error: unrecognized arguments: --message-file');
  expect(await run('aider')).toMatchObject({ status: 'failed' });
});
