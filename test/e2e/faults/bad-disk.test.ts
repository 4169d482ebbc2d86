import {
  existsSync,
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
import { readIfExists } from '../../../src/core/state/files/atomic-file.ts';
import { addGateAgent, saidAnswer } from '../../kit/agents/gate-agent.ts';
import { until } from '../../kit/judges/until.ts';
import { runCommand } from '../../kit/servers/command-line.ts';
import { type McpClient, startServer } from '../../kit/servers/mcp-client.ts';
import { needing } from '../../kit/workspaces/needs.ts';
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

let workspace: TempWorkspace;
let server: McpClient | undefined;
let disk: SmallDisk | undefined;
/** Never on the small disk. */
let arena: string;
let gate: string;

beforeEach(() => {
  workspace = createTempWorkspace();
  arena = mkdtempSync(join(tmpdir(), 'troupe-gate-'));
  gate = join(arena, 'gate');
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

describe('a spawn is refused, and nothing is left of it,', () => {
  test.each(['spawns', 'open'])(
    'when %s of the record is a file',
    async (name) => {
      const file = workspace.writeRecord(name, 'precious');
      await start();
      await expectRefused('storage_unwritable', workspace.record);
      expect(readFileSync(file, 'utf8')).toBe('precious');
      expect(agentsOnDisk()).toEqual([]);
    }
  );

  testMounted(
    'when the record is read-only, but results are read',
    async () => {
      mount(2048);
      const id = await runOne();
      await disk?.setReadOnly(true);
      await expectRefused('storage_unwritable', 'EROFS');
      expect(await result(id)).toMatchObject({ result: 'answer' });
      await server?.close();
      const { code, stdout } = await runCommand(workspace, ['result', id]);
      expect({ code, stdout }).toEqual({ code: 0, stdout: 'answer\n' });
    }
  );

  testMounted('when the disk is full, and works when it is not', async () => {
    mount(1024);
    await start();
    disk?.fill();
    await expectRefused('storage_full', 'full');
    expect(agentsOnDisk()).toEqual([]);
    disk?.free();
    const id = await spawn();
    writeFileSync(gate, '');
    expect(await ended(id)).toMatchObject({ status: 'completed' });
  });
});

describe('when the disk fills up while an agent runs', () => {
  testMounted('its result arrives as soon as there is room', async () => {
    mount(1024);
    await start();
    const id = await spawn();
    await saidAnswer(workspace, id);
    disk?.fill();
    writeFileSync(gate, '');
    await until('its end', async () => {
      const { data } = await call('result', { agent_id: id });
      return data.error_code === 'storage_full';
    });
    const waited = await call('wait_for_agents', { agent_ids: [id] });
    expect(waited.text).toContain(id);
    expect(waited.data.error_code).toBe('storage_full');
    expect((await call('list')).isError).toBe(false);
    disk?.free();
    expect(await ended(id)).toMatchObject({
      status: 'completed',
      result: 'answer'
    });
    await until('the log', () => logged('IAC.md').includes('**Done**'), 2500);
  });

  testMounted('it can be canceled all the same', async () => {
    mount(1024);
    await start();
    const id = await spawn();
    await saidAnswer(workspace, id);
    disk?.fill();
    await call('cancel_agent', { agent_id: id });
    disk?.free();
    expect(await ended(id)).toMatchObject({ status: 'canceled' });
  });

  testMounted(
    'the audit log holds whole records before and after',
    async () => {
      mount(1024);
      await start();
      const first = await spawn();
      await saidAnswer(workspace, first);
      disk?.fill();
      for (let tries = 0; tries < 50; tries += 1)
        await call('spawn_gate', { prompt: gate });
      disk?.free();
      writeFileSync(gate, '');
      await ended(first);
      await runAnother();
      const types = readFileSync(workspace.paths.journal, 'utf8')
        .split('\n')
        .flatMap((line) => /"type":"(\w+)".*\}$/.exec(line)?.[1] ?? []);
      expect(types.sort()).toEqual(
        ['spawned', 'finished', 'spawned', 'finished'].sort()
      );
    }
  );
});

/** Puts the workspace and its record on a disk of so many kilobytes. */
function mount(kilobytes: number): void {
  const made = makeSmallDisk(kilobytes);
  disk = made;
  workspace.remove();
  workspace = createTempWorkspace(made.directory);
}

async function start(): Promise<void> {
  if (!existsSync(pathOf('gate.mjs'))) addGateAgent(workspace);
  server = await startServer(workspace);
}

async function runOne(): Promise<string> {
  await start();
  return runAnother();
}

async function runAnother(): Promise<string> {
  writeFileSync(gate, '');
  const id = await spawn();
  expect(await ended(id)).toMatchObject({ status: 'completed' });
  return id;
}

async function spawn(): Promise<string> {
  const { data, text } = await call('spawn_gate', { prompt: gate });
  expect(data.status, text).toBe('running');
  return String(data.agent_id);
}

async function call(tool: string, input: Record<string, unknown> = {}) {
  if (!server) throw new Error('no server');
  return server.call(tool, input);
}

async function result(id: string) {
  return (await call('result', { agent_id: id })).data;
}

async function ended(id: string) {
  await call('wait_for_agents', { agent_ids: [id], timeout: 20 });
  return result(id);
}

async function expectRefused(code: string, named: string): Promise<void> {
  const { isError, data } = await call('spawn_gate', { prompt: gate });
  expect(isError).toBe(true);
  expect(data.error_code).toBe(code);
  expect(data.error).toContain(named);
  expect(String(data.hint)).toMatch(/^.{20,}\.$/);
  expect((await call('list')).data).toMatchObject({ running: [], queued: [] });
}

function logged(name: string): string {
  return readIfExists(pathOf('logs', name)) ?? '';
}

function agentsOnDisk(): string[] {
  const spawns = join(workspace.record, 'spawns');
  const there = statSync(spawns, { throwIfNoEntry: false });
  if (!there?.isDirectory()) return [];
  return readdirSync(spawns).filter((name) => name !== '.gitignore');
}

function pathOf(...parts: string[]): string {
  return join(workspace.path, ...parts);
}
