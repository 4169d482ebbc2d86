import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { onTestFinished, vi } from 'vitest';
import { type Config, loadConfig } from '../../../src/config/config.ts';
import { type Parts, wire } from '../../../src/host/wiring.ts';
import { wireEngines } from '../../../src/host/wiring-engines.ts';
import type { CliEngine } from '../../../src/plugin/plugin.ts';
import { until } from '../judges/until.ts';
import { recordWith } from '../servers/run-facts.ts';
import { createTempWorkspace, type TempWorkspace } from './temp-workspace.ts';

/** The parts of one server, whose agents are shell scripts. */
export interface SpawnStage extends Parts {
  workspace: TempWorkspace;
  /** A server of the same workspace, in this process. */
  another: () => Promise<Parts>;
  /** Every file of the workspace and its record, with its text. */
  files: () => Record<string, string>;
  /** Whether a script has begun to run, by the file that it makes. */
  hasRun: (name: string) => boolean;
}

export interface StageOptions {
  config?: Partial<Config>;
  squad?: Partial<Config['squad']>;
  /** The server runs inside this agent, which is at work. */
  inside?: string;
  /** The directory that takes workspace and home. */
  parent?: string;
  /** Called before the server is wired. */
  before?: (workspace: TempWorkspace) => void;
}

/** Runs its prompt. */
const shell: CliEngine = {
  kind: 'cli',
  name: 'shell',
  description: 'Runs its prompt.',
  command: '/bin/sh',
  args: () => ['-s'],
  resumes: true
};

/** Ignores its prompt. */
const still: CliEngine = {
  ...shell,
  name: 'still',
  args: () => ['-c', 'exec sleep 100']
};

const missing: CliEngine = {
  ...shell,
  name: 'gone',
  command: 'no-such-program'
};

/** A server without a client that is taken down with the test. */
export async function createSpawnStage({
  config: settings = {},
  squad = {},
  inside,
  parent,
  before
}: StageOptions = {}): Promise<SpawnStage> {
  const workspace = createTempWorkspace(parent);
  for (const name of ['ID', 'DIR', 'DEPTH'])
    vi.stubEnv(`TROUPE_AGENT_${name}`, undefined);
  vi.stubEnv('TROUPE_DEPTH', inside === undefined ? undefined : '1');
  vi.stubEnv('TROUPE_AGENT_ID', inside);
  before?.(workspace);
  const loaded = await loadConfig(
    { workspace: workspace.path },
    { HOME: workspace.home }
  );
  const config: Config = {
    ...loaded,
    maxSpawnsPerMinute: 0,
    ...settings,
    plugins: [shell, still, missing],
    squad: { ...loaded.squad, engine: 'still', ...squad }
  };
  const servers: Parts[] = [];
  const another = async () => {
    const { registry, keys } = await wireEngines(config);
    const parts = wire(config, registry, keys);
    servers.push(parts);
    return parts;
  };
  const parts = await another();
  onTestFinished(async () => {
    vi.restoreAllMocks();
    vi.useRealTimers();
    for (const server of servers) server.starter.close();
    for (const server of servers) {
      await server.starter.prepared();
      await endAll(server);
      server.release();
    }
    vi.unstubAllEnvs();
    workspace.remove();
  });
  const { store, processes } = parts;
  if (inside !== undefined)
    store.create(
      recordWith({ agent_id: inside, kind: 'api', owner: processes.self }),
      'x',
      'x'
    );
  const files = () => ({
    ...filesBelow(workspace.path),
    ...filesBelow(workspace.record)
  });
  const hasRun = (name: string) => existsSync(join(workspace.path, name));
  return { ...parts, workspace, another, files, hasRun };
}

async function endAll({ store, starter, processes }: Parts): Promise<void> {
  const { place } = processes.self;
  const stops = store
    .ids()
    .map((id) => store.directoryOf(id))
    .map((directory) => processes.stop({ directory, place, withNested: true }));
  await Promise.all(stops);
  await until('the end of all agents', () => starter.ownRunning().length === 0);
}

/**
 * Without the counted sizes, which any server may count again, and files that
 * are gone before they are read.
 */
function filesBelow(root: string): Record<string, string> {
  if (!existsSync(root)) return {};
  const entries = readdirSync(root, { recursive: true, withFileTypes: true });
  return Object.fromEntries(
    entries
      .filter((entry) => entry.isFile())
      .filter(({ name }) => name !== '.gitignore' && name !== 'sizes')
      .map((entry) => join(entry.parentPath, entry.name))
      .sort()
      .flatMap((path) => {
        try {
          return [[path.slice(root.length), readFileSync(path, 'utf8')]];
        } catch {
          return [];
        }
      })
  );
}
