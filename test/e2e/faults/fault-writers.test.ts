import { execFileSync, spawn } from 'node:child_process';
import { chmodSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { locate } from '../../../src/adapters/child-process/locate.ts';
import { verifyJournal } from '../../../src/core/audit/journal/verify.ts';
import { addGateAgent, saidAnswer } from '../../kit/agents/gate-agent.ts';
import { until } from '../../kit/judges/until.ts';
import { type McpClient, startServer } from '../../kit/servers/mcp-client.ts';
import { enqueued } from '../../kit/servers/orchestrator-calls.ts';
import { createOrchestratorStage } from '../../kit/servers/orchestrator-stage.ts';
import { needing } from '../../kit/workspaces/needs.ts';
import { canMount } from '../../kit/workspaces/small-disk.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../kit/workspaces/temp-workspace.ts';

const isRoot = process.platform === 'linux' && process.getuid?.() === 0;
const testMounted = needing('right to mount a disk', canMount());
const testUnprivileged = needing(
  'right to give up rights',
  isRoot && locate('setpriv') !== undefined
);

/** For root, to whom modes do not apply. */
const bound = [
  'setpriv',
  '--bounding-set',
  '-dac_override,-dac_read_search',
  '--inh-caps',
  '-dac_override,-dac_read_search'
];

const tidy: (() => unknown)[] = [];

afterEach(async () => {
  for (const step of tidy.splice(0).reverse()) await step();
});

const megabytes = (mark: string) => mark.repeat(1_500_000);

test('eight servers that write 1.5 MB each at once spoil nothing', async () => {
  const { workspace, serve } = prepared();
  const servers = await Promise.all(
    [1, 2, 3, 4, 5, 6, 7, 8].map(() => serve())
  );
  const ids = await Promise.all(
    servers.map(async (server, index) => {
      const prompt = `say ${megabytes(String(index))}`;
      const { data } = await server.call('spawn_rehearsal', { prompt });
      return String(data.agent_id);
    })
  );
  const [first] = servers;
  await first?.call('wait_for_agents', { agent_ids: ids, timeout: 40 });
  for (const [index, id] of ids.entries()) {
    const folder = join(workspace.record, 'spawns', id);
    const result = readFileSync(join(folder, 'result.txt'), 'utf8');
    expect(result.endsWith(megabytes(String(index)))).toBe(true);
    expect(statSync(join(folder, 'prompt.txt')).size).toBe(1_500_004);
  }
  const { journal, heads } = workspace.paths;
  const found = await verifyJournal(journal, heads);
  expect(found).toMatchObject({ records: 16, torn: 0, faults: [] });
});

test('eight masters that give 1.5 MB each at once spoil no line', async () => {
  const stage = createOrchestratorStage('process');
  tidy.push(stage.close);
  const masters = await Promise.all(
    [1, 2, 3, 4, 5, 6, 7, 8].map(() => stage.serve())
  );
  const [first] = masters;
  if (!first) return;
  const { id } = await stage.puppet(first);
  await Promise.all(
    masters.map((master, index) =>
      enqueued(master, id, `t${index}`, megabytes(String(index)))
    )
  );
  const tasks = stage
    .lines(stage.file(id, 'inbox.jsonl'))
    .filter(({ task_id }) => task_id !== undefined);
  expect(tasks.map(({ task_id }) => task_id).sort()).toEqual(
    masters.map((_, index) => `t${index}`)
  );
  for (const { task_id = '', payload_file = '' } of tasks) {
    const text = readFileSync(stage.file(id, payload_file), 'utf8');
    expect(JSON.parse(text)).toBe(megabytes(task_id.slice(1)));
  }
});

testMounted(
  'a journal on a broken disk is told, and goes on when mended',
  async () => {
    const { workspace, serve, gate } = prepared();
    const server = await serve();
    const before = await gated(workspace, server, gate);
    const journal = join(workspace.record, 'iac.jsonl');
    const mend = breakFile(journal);
    try {
      const { data } = await server.call('spawn_gate', { prompt: gate });
      expect(data).toMatchObject({ error_code: 'storage_unwritable' });
      expect(String(data.error)).toContain('EIO');
      writeFileSync(gate, '');
      await until('its end', async () => {
        const seen = await server.call('result', { agent_id: before });
        return seen.data.status === 'completed';
      });
    } finally {
      mend();
    }
    const after = await gated(workspace, server, gate);
    await server.call('wait_for_agents', { agent_ids: [after], timeout: 20 });
    const heads = join(workspace.record, 'heads');
    const ends = () =>
      readFileSync(journal, 'utf8').match(/"type":"finished"/g);
    await until('both ends', () => ends()?.length === 2);
    expect(await verifyJournal(journal, heads)).toMatchObject({ faults: [] });
  }
);

testUnprivileged(
  'directories that nobody may write to are told, and agents end well',
  async () => {
    const { workspace, serve, gate } = prepared();
    const server = await serve(bound);
    const id = await gated(workspace, server, gate);
    const folders = ['spawns', `spawns/${id}`, 'open', 'heads', 'drafts']
      .map((name) => join(workspace.record, name))
      .concat(join(workspace.path, 'logs'));
    for (const folder of folders) chmodSync(folder, 0o500);
    try {
      const { data } = await server.call('spawn_gate', { prompt: gate });
      expect(data).toMatchObject({ error_code: 'storage_unwritable' });
      writeFileSync(gate, '');
      await until('its end to be told', async () => {
        const seen = await server.call('result', { agent_id: id });
        expect(seen.data.error_code).not.toBe('internal');
        return seen.isError || seen.data.status === 'completed';
      });
      expect((await server.call('list')).isError).toBe(false);
    } finally {
      for (const folder of folders) chmodSync(folder, 0o700);
    }
    await server.call('wait_for_agents', { agent_ids: [id], timeout: 20 });
    const { data } = await server.call('result', { agent_id: id });
    expect(data).toMatchObject({ status: 'completed', result: 'answer' });
  }
);

/** A read or write of the file gives EIO: it is the memory of another process. */
function breakFile(path: string): () => void {
  const owner = spawn('sleep', ['1000'], { stdio: 'ignore' });
  execFileSync('mount', ['--bind', `/proc/${owner.pid}/mem`, path]);
  return () => {
    execFileSync('umount', ['-l', path]);
    owner.kill('SIGKILL');
  };
}

function prepared() {
  const workspace = createTempWorkspace();
  tidy.push(workspace.remove);
  addGateAgent(workspace);
  workspace.write(
    'troupe.config.json',
    '{"plugins": ["./gate.mjs"], "engines": {"gate": {}, "rehearsal": {}}}'
  );
  const serve = async (under: string[] = []) => {
    const env = { TROUPE_MAX_CONCURRENT: '10' };
    const server = await startServer(workspace, { under, env });
    tidy.push(async () => {
      await server.close();
      expect(server.impurities).toEqual([]);
      expect(server.stderr).not.toMatch(/bug|unexpectedly|^\s+at /m);
    });
    return server;
  };
  return { workspace, serve, gate: join(workspace.home, 'gate') };
}

async function gated(
  workspace: TempWorkspace,
  server: McpClient,
  prompt: string
) {
  const { data, text } = await server.call('spawn_gate', { prompt });
  expect(data.status, text).toBe('running');
  await saidAnswer(workspace, String(data.agent_id));
  return String(data.agent_id);
}
