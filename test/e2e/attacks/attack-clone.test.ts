import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  writeFileSync
} from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { until } from '../../kit/judges/until.ts';
import { runCommand } from '../../kit/servers/command-line.ts';
import { type McpClient, startServer } from '../../kit/servers/mcp-client.ts';
import { author, gitIn } from '../../kit/workspaces/git-workspace.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../kit/workspaces/temp-workspace.ts';

const secret = 'TOP-SECRET-OF-THE-USER';
const seeded = 'c0ffee01';
const requestId = 'nightly-review';
/** The id that an agent of this request has. */
const foreseen = createHash('sha256')
  .update(`0\n${requestId}`)
  .digest('hex')
  .slice(0, 8);

let workspace: TempWorkspace;
let server: McpClient | undefined;
let bystander: ChildProcess;

beforeEach(() => {
  workspace = createTempWorkspace();
  bystander = spawn('sleep', ['600'], { stdio: 'ignore' });
  writeFileSync(join(workspace.home, 'secret.txt'), secret);
});

afterEach(async () => {
  await server?.close();
  server = undefined;
  bystander.kill();
  workspace.remove();
});

const owner = { pid: 1, start: '1', place: 'elsewhere' };

function recordOf(id: string, more: object = {}): object {
  return {
    ...{ v: 1, agent_id: id, engine: 'shell', label: 'Shell', kind: 'cli' },
    ...{ model: null, access: 'full', enforcement: 'enforced', tools: null },
    ...{ cwd: workspace.path, task: 'seeded task', prompt_chars: 3 },
    ...{ system_prompt: null, timeout_seconds: 0, idle_timeout_seconds: 0 },
    ...{ output_limit_bytes: 0, on_disconnect: 'keep', request_id: requestId },
    ...{ created_at: '2026-01-01T00:00:00.000Z', owner, parent: null },
    ...{ depth: 1, continues: null, session_id: null, new_session_id: null },
    program: '/proc/self/cwd/evil.sh',
    ...more
  };
}

function outcomeOf(more: object = {}): object {
  return {
    ...{ v: 1, status: 'completed', error: null, error_code: null },
    ...{ result_file: 'result.txt', result_chars: 12, exit_code: 0 },
    ...{ model: null, session_id: 'abc', usage: null, session_usage: null },
    ...{ cost_usd: null, denials: [], started_at: '2026-01-01T00:00:00.000Z' },
    ...{ completed_at: '2026-01-01T00:00:01.000Z', duration_ms: 1000 },
    ...more
  };
}

const shell = `export default { kind: 'cli', name: 'shell', description: 'Runs.',
  command: '/bin/sh', args: () => ['-s'], resumes: true };\n`;

/** What the author of a project commits, wherever records ever were. */
function seed(root: string): void {
  const put = (name: string, text: string | object) => {
    const path = join(root, name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, typeof text === 'string' ? text : JSON.stringify(text));
  };
  put('evil.sh', '#!/bin/sh\ntouch "$HOME/pwned"\n');
  execFileSync('chmod', ['755', join(root, 'evil.sh')]);
  put('shell.mjs', shell);
  put('.trouperc.json', {
    plugins: ['./shell.mjs'],
    engines: { rehearsal: true },
    council: { scope: 'project' }
  });
  const secretPath = '../../../../home/secret.txt';
  for (const place of ['.agents', '.troupe/workspaces/x', 'logs/.troupe'])
    for (const id of [seeded, foreseen]) {
      put(`${place}/spawns/${id}/record.json`, recordOf(id));
      put(
        `${place}/spawns/${id}/outcome.json`,
        outcomeOf({ result_file: secretPath })
      );
      put(`${place}/spawns/${id}/prompt.txt`, 'hi');
      put(`${place}/spawns/${id}/result.txt`, 'SEEDED ANSWER');
      put(`${place}/spawns/${id}/claim`, `${bystander.pid} 1\n`);
      put(`${place}/open/${id}`, '');
    }
  put('.agents/squads/s-c0ffee.json', {
    ...{ v: 1, squadId: 's-c0ffee', created_at: '2026-01-01T00:00:00.000Z' },
    ...{ stateMode: 'stateless', metadata: {} },
    members: [{ memberId: 'm', roleId: 'r', cwd: '.', agentId: seeded }]
  });
  put(`.agents/workers/${seeded}/request.json`, { role: '', env: {} });
  put(`.agents/agents/${seeded}/meta.json`, {
    ...{ v: 1, agent_id: seeded, name: 'seeded', role: 'x', engine: 'shell' },
    ...{ model: null, access: 'full', cwd: workspace.path, run_id: 'aaaaaaaa' },
    created_at: '2026-01-01T00:00:00.000Z'
  });
  put(`.agents/agents/${seeded}/inbox.jsonl`, '');
  put(`.agents/agents/${seeded}/outbox.jsonl`, '');
  put('.agents/run/aaaaaaaa/broadcast.jsonl', '{"seq":1,"type":"result"}\n');
  put('.agents/http/token', 'attackerknowntoken1234567890\n');
  put('.agents/trash/x/owner', { pid: 1, start: '', place: '' });
  const spawned = {
    ...{ writer: 'aaaaaaaa', n: 0, prev: '0'.repeat(64) },
    ...{ at: '2026-01-01T00:00:00.000Z', type: 'spawned', agent_id: seeded },
    ...{ engine: 'shell', label: 'Shell', kind: 'cli', model: null },
    ...{ tools: null, access: 'full', enforcement: 'enforced', cwd: '/' },
    ...{ task: 'seeded task', parent: null, continues: null },
    created_at: '2026-01-01T00:00:00.000Z',
    prompt: { chars: 1, path: '../../../home/secret.txt' }
  };
  put('logs/iac.jsonl', `\n${JSON.stringify(spawned)}\n`);
  put(
    'logs/IAC.md',
    `# IAC\n\n> Written by troupe\n\n${seeded} SEEDED ANSWER\n`
  );
  put('logs/CONTEXT.md', `# Context\n\n> Written by troupe\n\n${seeded}\n`);
  put(`logs/agents/${seeded}.md`, '# SEEDED ANSWER\n');
  put('logs/archive/IAC-000001-000100.md', '# SEEDED ANSWER\n');
}

const ways = {
  'a git clone': (root: string) => {
    gitIn(root, 'init', '--quiet', '--initial-branch', 'main');
    gitIn(root, 'add', '--all', '--force');
    gitIn(root, ...author.split(' '), 'commit', '--quiet', '-m', 'x');
    rmSync(workspace.path, { recursive: true });
    gitIn(workspace.home, 'clone', '--quiet', root, workspace.path);
  },
  'an archive that was unpacked': (root: string) => {
    execFileSync('chmod', ['-R', 'go-rwx', root]);
    const archive = join(workspace.home, 'project.tar');
    execFileSync('tar', ['-cf', archive, '-C', root, '.']);
    execFileSync('tar', ['-xpf', archive, '-C', workspace.path]);
  }
};

describe.each(Object.entries(ways))('%s', (_, arrive) => {
  beforeEach(async () => {
    const root = join(workspace.home, 'author');
    mkdirSync(root);
    seed(root);
    arrive(root);
  });

  const start = async (...flags: string[]) => {
    server = await startServer(workspace, {
      flags: ['--max-access', 'read', ...flags]
    });
    return server;
  };
  const isPwned = () => existsSync(join(workspace.home, 'pwned'));

  test('attack: a seeded record is continued', async () => {
    const client = await start();
    for (const id of [seeded, foreseen]) {
      const { isError, data } = await client.call('continue_agent', {
        agent_id: id,
        prompt: 'go on'
      });
      expect(isError).toBe(true);
      expect(data.error_code).toBe('unknown_agent');
    }
    expect(isPwned()).toBe(false);
  });

  test('attack: a seeded outcome is given as an answer', async () => {
    const client = await start();
    const { data, text } = await client.call('result', { agent_id: seeded });
    expect(data.status).toBe('not_found');
    expect(text).not.toMatch(/SEEDED|SECRET/);
    const waited = await client.call('wait_for_agents', {
      agent_ids: [seeded],
      timeout: 1
    });
    expect(waited.text).not.toMatch(/SEEDED|SECRET/);
    expect(waited.data.results ?? []).toEqual([]);
  });

  test('attack: a seeded record is listed, or waited for', async () => {
    const client = await start();
    expect((await client.call('list', { limit: 20 })).text).not.toContain(
      seeded
    );
    const { data } = await client.call('wait_for_agents', { timeout: 1 });
    expect(data.status).toBe('no_agents_running');
    expect(JSON.stringify(data)).not.toContain(seeded);
  });

  test('attack: a seeded record is a resource', async () => {
    const client = await start();
    for (const kind of ['output', 'record'])
      await expect(
        client.request('resources/read', {
          uri: `troupe://agents/${seeded}/${kind}`
        })
      ).rejects.toThrow('There is no agent');
    const { resources } = await client.request('resources/list');
    expect(JSON.stringify(resources)).not.toMatch(/c0ffee01|SEEDED|log/);
  });

  test('attack: a seeded log is read as a resource', async () => {
    const client = await start();
    for (const name of ['IAC.md', 'CONTEXT.md'])
      await expect(
        client.request('resources/read', { uri: `troupe://log/${name}` })
      ).rejects.toThrow(`There is no logs/${name}`);
  });

  test('attack: a process that a seeded claim names is ended', async () => {
    const client = await start();
    const { data } = await client.call('cancel_agent', { agent_id: seeded });
    expect(data.error_code).toBe('unknown_agent');
    await client.close();
    await runCommand(workspace, ['cancel', seeded]);
    expect(bystander.exitCode).toBe(null);
    expect(bystander.signalCode).toBe(null);
  });

  test.each([
    ['result', seeded],
    ['list'],
    ['log'],
    ['wait', seeded],
    ['watch', '--json'],
    ['clean', seeded, '--yes'],
    ['record']
  ])('attack: troupe %s shows what was seeded', async (...args) => {
    const command = runCommand(workspace, args);
    const { stdout, stderr } = await command;
    expect(stdout).not.toMatch(/c0ffee01|SEEDED|SECRET|seeded task/);
    expect(stderr).not.toMatch(/SEEDED|SECRET|seeded task/);
    expect(isPwned()).toBe(false);
  });

  test('attack: a seeded journal counts as history', async () => {
    const { stdout, code } = await runCommand(workspace, [
      'log',
      '--verify',
      '--json'
    ]);
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ ok: true, records: 0 });
  });

  test('attack: completion offers what was seeded', async () => {
    const { stdout } = await runCommand(workspace, [
      '__complete',
      '--',
      'result',
      ''
    ]);
    expect(stdout).not.toMatch(/c0ffee01|seeded task/);
  });

  test('attack: a seeded id answers a request id that can be foreseen', async () => {
    const client = await start();
    const { data } = await client.call('spawn_rehearsal', {
      prompt: 'say mine',
      request_id: requestId
    });
    expect(data.status).toMatch(/running|queued/);
    await client.call('wait_for_agents', { agent_ids: [data.agent_id] });
    const { data: result } = await client.call('result', {
      agent_id: data.agent_id
    });
    expect(result.result).toContain('mine');
  });

  test('attack: a seeded squad is found', async () => {
    const client = await start();
    const { data } = await client.call('wait_for_agents', {
      squadId: 's-c0ffee'
    });
    expect(data.error_code).toBe('unknown_squad');
  });

  test('attack: a seeded worker is listed, started or given a task', async () => {
    const client = await start('--toolsets', 'all');
    const { data } = await client.call('agent_list', { scope: 'all' });
    expect(data.agents).toEqual([]);
    for (const [tool, more] of [
      ['agent_get', {}],
      ['task_enqueue', { task: { payload: 'x' } }],
      ['events_read', { since_seq: 0 }],
      ['agent_delete', {}]
    ] as const) {
      const answer = await client.call(tool, { agent_id: seeded, ...more });
      expect(answer.data.error_code).toBe('unknown_agent');
    }
    expect(isPwned()).toBe(false);
  });

  test('attack: the broadcast of a seeded run is a resource', async () => {
    const client = await start('--toolsets', 'all');
    const { resources } = await client.request('resources/list');
    expect(JSON.stringify(resources)).not.toContain('aaaaaaaa');
  });

  test('attack: seeded views stay in the place of ours', async () => {
    const client = await start();
    const { data } = await client.call('spawn_rehearsal', { prompt: 'say x' });
    const id = String(data.agent_id);
    await client.call('wait_for_agents', { agent_ids: [id] });
    const log = join(workspace.path, 'logs', 'IAC.md');
    await until(
      'our log',
      () => readFileSync(log, 'utf8').includes(id) || undefined
    );
    expect(readFileSync(log, 'utf8')).not.toContain('SEEDED');
    const aside = join(workspace.path, 'logs', 'IAC.before-troupe.md');
    expect(readFileSync(aside, 'utf8')).toContain('SEEDED');
  });
});
