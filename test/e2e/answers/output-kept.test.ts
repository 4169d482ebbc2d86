import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { locate } from '../../../src/adapters/child-process/locate.ts';
import { endNotesOf } from '../../../src/core/runs/run-files.ts';
import { readIfExists } from '../../../src/core/state/files/atomic-file.ts';
import { isAlive } from '../../kit/agents/probe-agent.ts';
import { commandOf } from '../../kit/judges/command-of.ts';
import { until } from '../../kit/judges/until.ts';
import { type McpClient, startServer } from '../../kit/servers/mcp-client.ts';
import { needing } from '../../kit/workspaces/needs.ts';
import { mayHaveOwnTmux } from '../../kit/workspaces/own-tmux-place.ts';
import {
  canMount,
  makeSmallDisk,
  type SmallDisk
} from '../../kit/workspaces/small-disk.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../kit/workspaces/temp-workspace.ts';

const testMounted = needing('right to mount a disk', canMount());

const testTmux = needing(
  'tmux, and no server of it on the usual socket',
  mayHaveOwnTmux() && locate('tmux') !== undefined
);

let workspace: TempWorkspace;
let server: McpClient | undefined;
let disk: SmallDisk | undefined;
/** Never on the small disk. */
let arena: string;

beforeEach(() => {
  workspace = createTempWorkspace();
  arena = mkdtempSync(join(tmpdir(), 'troupe-arena-'));
});

afterEach(async () => {
  expect(server?.impurities ?? []).toEqual([]);
  await server?.close();
  server = undefined;
  disk?.unmount();
  disk = undefined;
  workspace.remove();
  rmSync(arena, { recursive: true });
});

describe('what an agent prints is kept whole', () => {
  test('although its script reopens /dev/stdout', async () => {
    const id = await spawn(
      'shell',
      'echo one; echo two; echo three >/dev/stdout; echo four | tee /dev/stderr'
    );
    expect(await ended(id)).toMatchObject({
      status: 'completed',
      result: 'one\ntwo\nthree\nfour'
    });
  });

  test('although a wrapped script reopens /dev/stdout', async () => {
    const id = await spawn('wrapped', 'echo one; echo two >/dev/stdout');
    expect(await ended(id)).toMatchObject({
      status: 'completed',
      result: 'one\ntwo'
    });
  });

  test('although a script that writes events reopens /dev/stdout', async () => {
    const event = `echo '{"text":"the answer"}'`;
    const id = await spawn('events', `${event}; echo note >/dev/stdout`);
    expect(await ended(id)).toMatchObject({
      status: 'completed',
      result: 'the answer'
    });
  });

  test('although a script that writes events reopens /dev/stderr', async () => {
    const id = await spawn(
      'events',
      'echo why >&2; echo more | tee /dev/stderr >/dev/null; exit 3'
    );
    expect(await ended(id)).toMatchObject({
      status: 'failed',
      error: expect.stringContaining('why\nmore')
    });
  });

  test('although Perl reopens /dev/stdout', async () => {
    const id = await spawn(
      'perl',
      '$| = 1; print "one\\n"; open(F, ">", "/dev/stdout"); print F "two\\n";'
    );
    expect(await ended(id)).toMatchObject({
      status: 'completed',
      result: 'one\ntwo'
    });
  });

  test('although it is Node, which exits before a pipe would have taken it', async () => {
    const id = await spawn(
      'node',
      'console.log("x".repeat(300000) + "end"); process.exit(0)'
    );
    expect(await ended(id)).toMatchObject({ status: 'completed' });
    const far = { agent_id: id, offset: 299_990 };
    const { data } = await call('result', far);
    expect(data.result).toBe(`${'x'.repeat(10)}end`);
  });
});

testMounted('an agent whose output fills the disk has failed', async () => {
  const made = makeSmallDisk(6144);
  disk = made;
  workspace.remove();
  workspace = createTempWorkspace(made.directory);
  const filler = join(made.directory, 'filler');
  writeFileSync(filler, Buffer.alloc(1e6));
  const id = await spawn('node', 'process.stdout.write("x".repeat(12e6))');
  await call('wait_for_agents', { agent_ids: [id], timeout: 30 });
  rmSync(filler);
  expect(await ended(id)).toMatchObject({
    status: 'failed',
    error_code: 'storage_full'
  });
});

describe('an agent that printed while the disk was full has failed:', () => {
  const cases: [string, string, (done: string) => string][] = [
    [
      'a script, much',
      'shell',
      (done) => `head -c 9000000 ${zero}; :>'${done}'`
    ],
    ['a script, little', 'shell', (done) => `echo words; :>'${done}'`],
    ['Node, much', 'node', (done) => printed('"x".repeat(9e6)', done)],
    ['Node, little', 'node', (done) => printed('"words"', done)]
  ];
  for (const [name, engine, scriptFor] of cases)
    testMounted(name, async () => {
      const made = makeSmallDisk(4096);
      disk = made;
      workspace.remove();
      workspace = createTempWorkspace(made.directory);
      const [go, done] = [join(arena, 'go'), join(arena, 'done')];
      const wait =
        engine === 'shell'
          ? `while [ ! -e '${go}' ]; do sleep 0.05; done;`
          : `while (!require('fs').existsSync('${go}'));`;
      const id = await spawn(engine, `${wait} ${scriptFor(done)}`);
      // Without room for its claim, it would stay queued.
      const claim = join(workspace.record, 'spawns', id, 'claim');
      await until('its start', () => /\n./.test(readIfExists(claim) ?? ''));
      made.fill();
      writeFileSync(go, '');
      await until('its last act', () => existsSync(done));
      await until('its end', async () => {
        const { data } = await call('result', { agent_id: id });
        return data.status !== 'running';
      });
      made.free();
      expect(await ended(id)).toMatchObject({
        status: 'failed',
        error_code: 'storage_full',
        error: expect.stringContaining('disk was full')
      });
    });
});

testMounted('an agent whose disk was full for a while has failed', async () => {
  const made = makeSmallDisk(4096);
  disk = made;
  workspace.remove();
  workspace = createTempWorkspace(made.directory);
  const [go, over] = [join(arena, 'go'), join(arena, 'over')];
  const id = await spawn(
    'node',
    `const fs = require('fs');
     const wait = (file) => { while (!fs.existsSync(file)); };
     const print = (text) => { try { fs.writeSync(1, text); } catch {} };
     print('first'); wait('${go}'); print('x'.repeat(9e6));
     wait('${over}'); print('last');`
  );
  const folder = join(workspace.record, 'spawns', id);
  const { size } = await until('its words', () => {
    const stats = statSync(join(folder, 'stdout'));
    return stats.size > 0 ? stats : undefined;
  });
  expect(size).toBe(5);
  made.fill();
  writeFileSync(go, '');
  await until('a note', () => endNotesOf(folder).filled);
  made.free();
  writeFileSync(over, '');
  const { status, error_code, result } = await ended(id);
  expect({ status, error_code }).toEqual({
    status: 'failed',
    error_code: 'storage_full'
  });
  expect(result).toMatch(/^firstx/);
});

test('an agent whose stdout was removed ends, and says so', async () => {
  const id = await spawn('shell', 'echo lost; rm "$TROUPE_AGENT_DIR/stdout"');
  expect(await ended(id)).toMatchObject({
    status: 'failed',
    error_code: 'bad_output',
    error: expect.stringContaining('its file stdout was removed')
  });
});

test('an end that cannot be recorded is reported with its cause', async () => {
  const id = await spawn('shell', 'mkdir "$TROUPE_AGENT_DIR/result.txt"');
  const { isError, data } = await until('its end', async () => {
    const answer = await call('result', { agent_id: id });
    return answer.data.status === 'running' ? undefined : answer;
  });
  expect({ isError, code: data.error_code }).toEqual({
    isError: true,
    code: 'storage_unwritable'
  });
  expect(data.error).toContain('EISDIR');
  rmSync(join(workspace.record, 'spawns', id, 'result.txt'), {
    recursive: true
  });
  expect(await ended(id)).toMatchObject({ status: 'failed' });
});

test('what an agent leaves behind ends though no server lives', async () => {
  const pids = join(arena, 'pids');
  const go = join(arena, 'go');
  mkdirSync(pids);
  const id = await spawn(
    'shell',
    `left() { "$@" >/dev/null 2>&1 & : >'${pids}'/$!; }
     left sleep 300; left setsid sleep 301; left env -i sleep 302; sleep 303 &
     : >'${pids}'/$!; while [ ! -e '${go}' ]; do sleep 0.05; done; echo over`
  );
  const left = await until('its children', () => {
    const names = readdirSync(pids).map(Number);
    return names.length === 4 ? names : undefined;
  });
  server?.child.kill('SIGKILL');
  await server?.exited;
  expect(left.map(isAlive)).toEqual([true, true, true, true]);
  writeFileSync(go, '');
  await until('the end of all', () => !left.some(isAlive));
  server = await startServer(workspace);
  expect(await ended(id)).toMatchObject({
    status: 'completed',
    result: 'over'
  });
});

test('what resists is ended though its server is killed meanwhile', async () => {
  const file = join(arena, 'pid');
  const id = await spawn(
    'shell',
    `setsid sh -c 'trap "" TERM; echo $$ >"$0"; sleep 300; :' '${file}' >/dev/null &
     while [ ! -s '${file}' ]; do sleep 0.05; done; echo over`
  );
  const folder = join(workspace.record, 'spawns', id);
  await until('the reaper', () =>
    readdirSync('/proc').some((pid) =>
      commandOf(pid).endsWith(`\0${folder}\0left\0`)
    )
  );
  server?.child.kill('SIGKILL');
  await server?.exited;
  const pid = Number(readFileSync(file, 'utf8'));
  expect(isAlive(pid)).toBe(true);
  await until('its end', () => !isAlive(pid));
});

testTmux(
  'the tmux server that an agent starts is its own, and goes with it',
  async () => {
    const id = await spawn(
      'shell',
      `tmux new-session -d 'sleep 300' && tmux display-message -p '#{pid}'
     echo "$TMUX_TMPDIR"`
    );
    const { status, result } = await ended(id);
    expect(status).toBe('completed');
    const [pid, place = ''] = String(result).split('\n');
    expect(place).toContain(id);
    expect(isAlive(Number(pid))).toBe(false);
    expect(existsSync(place)).toBe(false);
  }
);

const zero = '/dev/zero';

function printed(text: string, done: string): string {
  return `console.log(${text}); require('fs').writeFileSync('${done}', '');`;
}

/** Starts an agent whose program does this. */
async function spawn(engine: string, script: string): Promise<string> {
  const plugins: string[] = [];
  const made = (name: string, [command, ...args]: string[], more = '') => {
    const parts = { kind: 'cli', name, description: 'For tests.', command };
    const text = JSON.stringify(parts).slice(0, -1);
    workspace.write(
      `${name}.mjs`,
      `export default ${text}, args: () => ${JSON.stringify(args)}, ${more} };`
    );
    plugins.push(`./${name}.mjs`);
  };
  made('shell', ['sh', '-s']);
  made('wrapped', ['env', 'nice', 'sh', '-s']);
  made('node', [process.execPath, '-']);
  made('perl', ['perl', '-']);
  made(
    'events',
    ['sh', '-s'],
    'read: (reply, { text }) => text ? { ...reply, text, finished: true } : reply'
  );
  workspace.write('.trouperc.json', JSON.stringify({ plugins }));
  server = await startServer(workspace);
  const { data, text } = await call(`spawn_${engine}`, {
    prompt: script,
    timeout: 60
  });
  expect(data.status, text).toBe('running');
  return String(data.agent_id);
}

async function call(tool: string, input: Record<string, unknown>) {
  if (!server) throw new Error('no server');
  return server.call(tool, input);
}

async function ended(agent_id: string) {
  await call('wait_for_agents', { agent_ids: [agent_id], timeout: 30 });
  return (await call('result', { agent_id })).data;
}
