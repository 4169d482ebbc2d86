import { lstatSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import { dirname } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  councilFileOf,
  councilIn,
  leftBeside,
  startCouncilServer
} from '../../kit/servers/council-servers.ts';
import type { McpClient, ToolResult } from '../../kit/servers/mcp-client.ts';
import { needing } from '../../kit/workspaces/needs.ts';
import {
  canMount,
  mountSmallDisk,
  type SmallDisk
} from '../../kit/workspaces/small-disk.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../kit/workspaces/temp-workspace.ts';

const testMounted = needing('right to mount a disk', canMount());

let workspace: TempWorkspace;
let servers: McpClient[] = [];
let disk: SmallDisk | undefined;
let path: string;

beforeEach(() => {
  workspace = createTempWorkspace();
  path = councilFileOf(workspace);
});

afterEach(async () => {
  for (const server of servers) {
    await server.close();
    expect(server.impurities).toEqual([]);
  }
  servers = [];
  disk?.unmount();
  disk = undefined;
  workspace.remove();
});

const agent_name = 'bob';
const calls = {
  start_council: { agent_name, request: 'Why?' },
  join_council: { agent_name },
  get_current_session_data: { agent_name },
  wait_for_responses: { agent_name, timeout: 1 },
  send_response: { agent_name, content: 'Because.' },
  summon_agent: { engine: 'rehearsal' },
  close_council: { agent_name, conclusion: 'So it is.' }
};

describe('no tool goes on with, or over,', () => {
  const torn = '{"version":1,"session":null,"requests":[],"feedb';
  test.each([
    ['a file that is torn', torn],
    ['an empty file', ''],
    ['a file of another program', '{"tasks":["shop"],"version":1}'],
    ['a file of a later version', '{"version":99,"session":null}']
  ])('%s', async (_, text) => {
    workspace.write('../home/.agents-council/state.json', text);
    await expectAllInvalid();
    expect(readFileSync(path, 'utf8')).toBe(text);
    expect(lstatSync(path).isFile()).toBe(true);
  });

  test('a directory in its place', async () => {
    mkdirSync(path, { recursive: true });
    await expectAllInvalid();
    expect(lstatSync(path).isDirectory()).toBe(true);
  });

  test('a symbolic link', async () => {
    const target = workspace.write('council.json', torn);
    mkdirSync(dirname(path));
    symlinkSync(target, path);
    await expectAllInvalid();
    expect(lstatSync(path).isSymbolicLink()).toBe(true);
    expect(readFileSync(target, 'utf8')).toBe(torn);
  });

  test('a file that was spoiled under a server at work', async () => {
    const server = await start();
    await acknowledged(server, 'start_council');
    await acknowledged(server, 'send_response');
    const whole = readFileSync(path, 'utf8');
    workspace.write('../home/.agents-council/state.json', torn);
    await expectAllInvalid(server);
    expect(readFileSync(path, 'utf8')).toBe(torn);

    // A user repairs it: all responses are there, and it goes on.
    workspace.write('../home/.agents-council/state.json', whole);
    await acknowledged(server, 'send_response');
    expect(councilIn(path).feedback).toHaveLength(2);
  });
});

describe('where nothing can be written nothing is recorded, nothing lost', () => {
  testMounted('on a full disk, and it goes on when there is room', async () => {
    disk = mountAround(path);
    const server = await start();
    await acknowledged(server, 'start_council');
    await acknowledged(server, 'send_response');
    const before = readFileSync(path, 'utf8');
    const newcomer = await start();
    disk.fill();
    for (const one of [server, newcomer])
      await expectAll(one, 'storage_full', path);
    expect(readFileSync(path, 'utf8')).toBe(before);
    expect(leftBeside(path).filter(isUnfinished)).toEqual([]);

    disk.free();
    await acknowledged(newcomer, 'join_council');
    await acknowledged(server, 'send_response');
    expect(councilIn(path).feedback).toHaveLength(2);
  });

  testMounted(
    'in a directory that is read-only, for one who comes then too',
    async () => {
      disk = mountAround(path);
      const server = await start();
      await acknowledged(server, 'start_council');
      await acknowledged(server, 'send_response');
      const before = readFileSync(path, 'utf8');
      await disk.setReadOnly(true);
      for (const one of [server, await start()])
        await expectAll(one, 'storage_unwritable', path);
      expect(readFileSync(path, 'utf8')).toBe(before);

      await disk.setReadOnly(false);
      await acknowledged(server, 'send_response');
      expect(councilIn(path).feedback).toHaveLength(2);
      expect(leftBeside(path).filter(isUnfinished)).toEqual([]);
    }
  );
});

/** A disk for the council alone; the record has room. */
function mountAround(file: string): SmallDisk {
  mkdirSync(dirname(file));
  return mountSmallDisk(dirname(file), 512);
}

async function start(): Promise<McpClient> {
  const server = await startCouncilServer(workspace);
  servers.push(server);
  return server;
}

async function acknowledged(server: McpClient, name: keyof typeof calls) {
  const { isError, text } = await server.call(name, calls[name]);
  expect([name, isError, text]).toEqual([name, false, text]);
}

async function expectAllInvalid(server?: McpClient) {
  await expectAll(server ?? (await start()), 'state_invalid', path);
  expect(leftBeside(path).filter(isUnfinished)).toEqual([]);
}

async function expectAll(server: McpClient, code: string, named: string) {
  for (const [name, args] of Object.entries(calls)) {
    const answer: ToolResult = await server.call(name, args);
    expect([name, answer.isError, answer.text]).toEqual([
      name,
      true,
      expect.stringContaining(`error_code: ${code}`)
    ]);
    expect(answer.text).toContain(named);
  }
}

/** A server's mark may lie next to the file. */
function isUnfinished(name: string): boolean {
  return /\.(lock|tmp)$|^reap/.test(name);
}
