import {
  existsSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  writeFileSync
} from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { pathsOf } from '../../../src/core/paths/paths.ts';
import { until } from '../../kit/judges/until.ts';
import { runCommand } from '../../kit/servers/command-line.ts';
import { type McpClient, startServer } from '../../kit/servers/mcp-client.ts';
import { removeBusy } from '../../kit/workspaces/remove-busy.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../kit/workspaces/temp-workspace.ts';

let workspace: TempWorkspace;
let servers: McpClient[];

beforeEach(() => {
  workspace = createTempWorkspace();
  workspace.write(
    '.trouperc.json',
    JSON.stringify({ engines: { rehearsal: true } })
  );
  servers = [];
});

afterEach(async () => {
  for (const server of servers) await server.close();
  workspace.remove();
});

async function start(env: Record<string, string> = {}): Promise<McpClient> {
  const server = await startServer(workspace, { env });
  servers.push(server);
  return server;
}

/** The id of an agent that has ended, with its result. */
async function ranAgent(server: McpClient, prompt: string) {
  const { data } = await server.call('spawn_rehearsal', { prompt });
  const { agent_id } = data;
  await server.call('wait_for_agents', { agent_ids: [agent_id] });
  const result = await server.call('result', { agent_id });
  return { id: String(agent_id), result: result.data };
}

const inLogs = (...names: string[]) => join(workspace.path, 'logs', ...names);
const textOf = (path: string) =>
  existsSync(path) ? readFileSync(path, 'utf8') : '';

/** Views come back within two seconds; the machine may be busy. */
const isBack = (name: string, words: string) =>
  until(
    `${words} in ${name}`,
    () => textOf(inLogs(name)).includes(words) || undefined,
    10_000
  );

describe('the record', () => {
  test('lies in the home directory, and the workspace has views alone', async () => {
    const server = await start();
    const { id } = await ranAgent(server, 'say hello');
    await isBack('IAC.md', id);
    expect(readdirSync(workspace.path).sort()).toEqual([
      '.trouperc.json',
      'logs'
    ]);
    // A view has another name while it is written.
    const views = '.gitignore CONTEXT.md IAC.md agents';
    await until(
      `nothing but ${views}`,
      () => readdirSync(inLogs()).sort().join(' ') === views
    );
    expect(existsSync(join(workspace.record, 'iac.jsonl'))).toBe(true);
    expect(existsSync(join(workspace.record, 'spawns', id))).toBe(true);
    const [name] = readdirSync(join(workspace.home, '.troupe/workspaces'));
    expect(name).toMatch(/^workspace-[0-9a-f]{14}$/);
  });

  test('lies in TROUPE_HOME where that is set, for agents too', async () => {
    const home = join(workspace.home, 'elsewhere');
    const server = await start({ TROUPE_HOME: home });
    const { id } = await ranAgent(server, 'say hello');
    const { record } = pathsOf(workspace.path, home);
    expect(existsSync(join(record, 'spawns', id))).toBe(true);
    expect(existsSync(join(workspace.home, '.troupe'))).toBe(false);
  });

  test('is one, whatever XDG variables a client hands on', async () => {
    const first = await start({ XDG_STATE_HOME: join(workspace.home, 'a') });
    const { id } = await ranAgent(first, 'say hello');
    const second = await start({ XDG_DATA_HOME: join(workspace.home, 'b') });
    const { data } = await second.call('result', { agent_id: id });
    expect(data.status).toBe('completed');
  });

  test('is refused inside the workspace', async () => {
    const home = join(workspace.path, 'records');
    const ran = await runCommand(workspace, ['list'], {
      env: { TROUPE_HOME: home }
    });
    expect(ran.code).toBe(1);
    expect(ran.stderr).toContain(
      `TROUPE_HOME is ${home}, inside the workspace`
    );
    expect(existsSync(home)).toBe(false);
  });

  test('stops the start of a server when it cannot be written', async () => {
    const home = join(workspace.home, 'taken');
    writeFileSync(home, '');
    const client = await startServer(workspace, {
      env: { TROUPE_HOME: home },
      raw: true
    });
    servers.push(client);
    const answer = client.request('initialize', {
      protocolVersion: '2025-11-25',
      capabilities: {},
      clientInfo: { name: 'x', version: '1' }
    });
    await expect(answer).rejects.toThrow('the server ended');
    expect((await client.exited).code).toBe(1);
    expect(client.stderr).toContain(home);
    expect(client.stderr).toContain('TROUPE_HOME');
  });
});

describe('views', () => {
  test('come back after their deletion, pages as well', async () => {
    const server = await start();
    const { id } = await ranAgent(server, 'say hello');
    const page = join('agents', `${id}.md`);
    await isBack('IAC.md', id);
    await isBack(page, 'hello');
    for (const gone of ['', 'IAC.md', 'CONTEXT.md', 'agents', page]) {
      removeBusy(inLogs(gone));
      await isBack('IAC.md', id);
      await isBack('CONTEXT.md', 'No active agents');
      await isBack(page, 'hello');
    }
  });

  test('of the archive are back, too', async () => {
    workspace.write(
      '.trouperc.json',
      JSON.stringify({ engines: { rehearsal: true }, iac: { entries: 1 } })
    );
    const server = await start();
    const first = await ranAgent(server, 'say first');
    const second = await ranAgent(server, 'say second');
    const archive = join('archive', 'IAC-000001-000100.md');
    await isBack(archive, first.id);
    await isBack('IAC.md', second.id);
    for (const gone of ['archive', archive, '']) {
      removeBusy(inLogs(gone));
      await isBack(archive, first.id);
      await isBack('IAC.md', second.id);
    }
  });

  test('come back with the next command when no server lives', async () => {
    const server = await start();
    const { id } = await ranAgent(server, 'say hello');
    await server.close();
    for (const gone of ['', join('agents', `${id}.md`)]) {
      removeBusy(inLogs(gone));
      await runCommand(workspace, ['list']);
      expect(textOf(inLogs('IAC.md'))).toContain(id);
      expect(textOf(inLogs('agents', `${id}.md`))).toContain('hello');
    }
  });

  test('of another record stay as they are, and ours are named for the user', async () => {
    const ours = await start();
    const first = await ranAgent(ours, 'say ours');
    await isBack('IAC.md', first.id);
    await ours.close();
    const before = textOf(inLogs('IAC.md'));
    const context = textOf(inLogs('CONTEXT.md'));

    const home = join(workspace.home, 'container');
    const other = await start({ TROUPE_HOME: home });
    const second = await ranAgent(other, 'say theirs');
    const named = await until('a log of its own', () =>
      readdirSync(inLogs()).find((name) => /^IAC\..+\.md$/.test(name))
    );
    await isBack(named, second.id);
    expect(textOf(inLogs(named))).toContain('was made from another record');
    expect(textOf(inLogs(named))).not.toContain(first.id);
    expect(textOf(inLogs('IAC.md'))).toBe(before);
    expect(textOf(inLogs('CONTEXT.md'))).toBe(context);
    // The log is read as a resource from the record that it is about.
    const { contents } = await other.request('resources/read', {
      uri: 'troupe://log/IAC.md'
    });
    expect(JSON.stringify(contents)).toContain(second.id);
    expect(JSON.stringify(contents)).not.toContain(first.id);
  });
});

describe('the page of an agent', () => {
  test('holds prompt, answer, changes, cost and time line', async () => {
    const server = await start();
    const prompt = 'say what\nwrite made.txt with words';
    const { id, result } = await ranAgent(server, prompt);
    expect(result.full_output).toBe(inLogs('agents', `${id}.md`));
    const page = textOf(inLogs('agents', `${id}.md`));
    for (const part of [
      prompt,
      String(result.result),
      '| Status | completed |',
      '| Cost | $0.0000 |',
      'was spawned',
      'ended as completed'
    ])
      expect(page).toContain(part);
  });

  test('holds a long answer whole, and above 16 MB the record does', async () => {
    workspace.program('talk', 'process.stdin.resume();');
    workspace.write(
      'talk.mjs',
      `export default { kind: 'cli', name: 'talk', description: 'Talks.',
        command: ${JSON.stringify(process.execPath)},
        args: ({ prompt }) => ['-e', 'process.stdout.write("0123456789abcde\\\\n".repeat(' + Number(prompt) + ') + "end")'] };`
    );
    workspace.write(
      '.trouperc.json',
      JSON.stringify({ plugins: ['./talk.mjs'] })
    );
    const server = await start();
    const sizes: [number, boolean][] = [
      [65_536, true],
      [1_200_000, false]
    ];
    for (const [lines, isPaged] of sizes) {
      const { data } = await server.call('spawn_talk', { prompt: `${lines}` });
      const { agent_id } = data;
      await server.call('wait_for_agents', { agent_ids: [agent_id] });
      const { data: result } = await server.call('result', { agent_id });
      const path = String(result.full_output);
      expect(path.startsWith(workspace.path)).toBe(isPaged);
      expect(textOf(path)).toContain(`${'0123456789abcde\n'.repeat(lines)}end`);
    }
  });
});

describe('a workspace that was moved', () => {
  test('takes its record along, and its agents can be continued', async () => {
    const server = await start();
    const { id } = await ranAgent(server, 'say hello');
    const old = workspace.path;
    const path = join(workspace.home, 'renamed');
    const moved: TempWorkspace = { ...workspace, path };
    const record = (args: string[] = []) =>
      runCommand(moved, ['record', ...args, '--json']);

    // A server lives there.
    renameSync(old, path);
    const early = await record(['--from', old]);
    expect(early.code).toBe(1);
    expect(JSON.parse(early.stdout).error.code).toBe('record_refused');
    await server.close();
    const listed = await runCommand(moved, ['list', '--json']);
    expect(listed.stdout).not.toContain(id);

    const doctor = await runCommand(moved, ['doctor']);
    expect(doctor.stdout.replace(/\s+/g, ' ')).toContain(
      'troupe record --from'
    );
    const taken = await record(['--from', old]);
    expect(taken.code, taken.stderr).toBe(0);
    expect(JSON.parse(taken.stdout).record).toBe(
      pathsOf(realpathSync(path), join(workspace.home, '.troupe')).record
    );
    const after = await startServer(moved);
    servers.push(after);
    const { data } = await after.call('result', { agent_id: id });
    expect(data.status).toBe('completed');
    const more = await after.call('continue_agent', {
      agent_id: id,
      prompt: 'say more'
    });
    expect(more.isError, more.text).toBe(false);
    const { agent_id } = more.data;
    await after.call('wait_for_agents', { agent_ids: [agent_id] });
    const said = await after.call('result', { agent_id });
    expect(said.data.status).toBe('completed');
    renameSync(path, old);
  });

  test('is refused what it is not', async () => {
    const there = await runCommand(workspace, [
      'record',
      '--from',
      workspace.home
    ]);
    expect(there.code).toBe(1);
    expect(there.stderr).toContain(`There is no record of ${workspace.home}`);
  });

  test('leaves a record that is removed when it is asked for', async () => {
    const server = await start();
    await ranAgent(server, 'say hello');
    await server.close();
    const path = join(workspace.home, 'renamed');
    renameSync(workspace.path, path);
    const moved: TempWorkspace = { ...workspace, path };
    const clean = (...args: string[]) =>
      runCommand(moved, ['clean', '--orphans', ...args]);
    expect((await clean()).code).toBe(1);
    const shown = await clean('--dry-run', '--json');
    expect(JSON.parse(shown.stdout).orphans).toMatchObject([
      { record: workspace.record, workspace: workspace.path }
    ]);
    expect(existsSync(workspace.record)).toBe(true);
    expect((await clean('--yes')).code).toBe(0);
    expect(existsSync(workspace.record)).toBe(false);
    renameSync(path, workspace.path);
  });
});
