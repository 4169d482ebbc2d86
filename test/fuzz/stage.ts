import { spawn } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { pick, type Random } from '../kit/judges/random.ts';
import { until } from '../kit/judges/until.ts';
import { testEnvironment } from '../kit/servers/mcp-client.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../kit/workspaces/temp-workspace.ts';
import { faultIn, line } from './campaign.ts';
import { FuzzClient } from './fuzz-client.ts';
import { type KnownTool, Names } from './valid-input.ts';
import { lineOf, noiseLine } from './wire.ts';

const root = join(import.meta.dirname, '../..');
const canary = 'Nobody writes here.\n';

/** A server that is fuzzed, in a workspace that is looked after. */
export interface FuzzStage {
  client: FuzzClient;
  names: Names;
  tools: KnownTool[];
  /** Bytes in use after garbage was collected. */
  heap: () => Promise<number>;
}

/** A workspace; nothing may be written next to it. */
export function createFuzzWorkspace(): TempWorkspace {
  const workspace = createTempWorkspace();
  workspace.write('../outside/canary', canary);
  workspace.write('a-file', 'some text');
  workspace.write('inside/file', 'some text');
  return workspace;
}

/** New entries next to a workspace. */
export function strayFiles(workspace: TempWorkspace): string[] {
  const base = join(workspace.path, '..');
  const isKept = readFileSync(join(base, 'outside', 'canary'), 'utf8');
  const known = ['bin', 'home', 'outside', 'probe', 'workspace'];
  return [
    ...(isKept === canary ? [] : ['outside/canary']),
    ...readdirSync(base).filter((name) => !known.includes(name)),
    ...readdirSync(join(base, 'outside')).filter((name) => name !== 'canary'),
    // Where councils are, unless configured, and the user's records.
    ...readdirSync(workspace.home).filter(
      (name) => name !== '.agents-council' && name !== '.troupe'
    ),
    ...strayRecords(workspace)
  ];
}

/** What `~/.troupe` holds apart from the record of this workspace. */
function strayRecords({ paths, record }: TempWorkspace): string[] {
  if (!existsSync(paths.home)) return [];
  const known = ['.gitignore', 'workspaces', basename(record)];
  return [paths.home, dirname(record)]
    .flatMap((directory) => readdirSync(directory))
    .filter((name) => !known.includes(name));
}

/**
 * Starts a server, which is spoken to before `initialize` too.
 * @param program file of `dist`, and its arguments
 */
export async function startFuzzed(
  workspace: TempWorkspace,
  program: string[],
  random: Random
): Promise<FuzzStage> {
  const [file = '', ...args] = program;
  const probe = join(workspace.path, '..', 'probe');
  const looks = linesIn(probe);
  const child = spawn(
    process.execPath,
    [
      ...['--require', join(root, 'bench', 'probe.cjs')],
      ...[join(root, 'dist', file), ...args]
    ],
    {
      cwd: workspace.path,
      env: testEnvironment(workspace, {
        TROUPE_MAX_CONCURRENT: '2',
        TROUPE_PROBE: probe,
        TROUPE_PROBE_GC: '1'
      })
    }
  );
  const names = new Names();
  let tools: KnownTool[] | undefined;
  const client = new FuzzClient(child, (answer) => {
    const listed = Object(answer.result).tools;
    if (Array.isArray(listed) && answer.id === 'tools') tools = listed;
    return faultIn(answer, names);
  });
  for (let early = 0; early < 50; early += 1)
    await client.write(
      early % 2 ? noiseLine(random) : earlyRequest(client, early, random)
    );
  const ask = async (id: string, method: string, params: object) => {
    client.expect(id, method);
    await client.write(line({ jsonrpc: '2.0', id, method, params }));
  };
  await ask('initialize', 'initialize', {
    protocolVersion: '2025-11-25',
    capabilities: {},
    clientInfo: { name: 'troupe-fuzz', version: '1' }
  });
  await client.write(
    line({ jsonrpc: '2.0', method: 'notifications/initialized' })
  );
  await ask('tools', 'tools/list', {});
  let seen = looks.length;
  return {
    client,
    names,
    tools: await until('the tools', () => tools),
    heap: async () => {
      child.kill('SIGUSR2');
      const lines = await until('a look inside', () => {
        const now = linesIn(probe);
        return now.length > seen ? now : undefined;
      });
      seen = lines.length;
      return Number(JSON.parse(lines.at(-1) ?? '{}').heapUsed);
    }
  };
}

/** Requests of a client that cannot wait. */
function earlyRequest(
  client: FuzzClient,
  early: number,
  random: Random
): Buffer {
  const id = `early ${early}`;
  client.expect(id, id);
  const method = pick(random, ['ping', 'tools/list', 'tools/call', 'none']);
  const params = { name: 'list', arguments: {} };
  return lineOf(JSON.stringify({ jsonrpc: '2.0', id, method, params }), random);
}

function linesIn(path: string): string[] {
  try {
    return readFileSync(path, 'utf8').split('\n').slice(0, -1);
  } catch {
    return [];
  }
}
