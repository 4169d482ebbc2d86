import { execFile, spawn } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  realpathSync,
  rmSync,
  symlinkSync
} from 'node:fs';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { test } from 'vitest';
import { judges, packagers } from '../../../scripts/engine-versions.mjs';
import { packageRoot } from '../judges/documents.ts';
import { McpClient, testEnvironment } from '../servers/mcp-client.ts';
import { needing } from './needs.ts';
import type { TempWorkspace } from './temp-workspace.ts';

const cache = join(packageRoot, '.cache');

/** Where `npm run test:engines` has put them. */
const binaries = {
  20: join(cache, 'packagers/node_modules', packagers.node20.package),
  22: join(cache, 'packagers/node_modules', packagers.node22.package),
  24: join(cache, 'judges/node_modules', judges.node.package)
};

export type NodeMajor = keyof typeof binaries;

export const nodeMajors: NodeMajor[] = [20, 22, 24];

export const hasNodes = Object.values(binaries).every((folder) =>
  existsSync(join(folder, 'bin/node'))
);

const run = promisify(execFile);

/** `test`, for where the package could be installed. */
export function testWith(installed: unknown) {
  const { platform, arch } = process;
  const what = 'built types and Nodes of npm run test:engines';
  return judges.node.package.endsWith(`-${platform}-${arch}`)
    ? needing(what, installed !== undefined)
    : (title: string, body: () => Promise<void> | void) =>
        test.skip(`${title} (on linux)`, body);
}

/** The installed package under one Node, for a user with an empty home. */
export class UnderNode {
  readonly #project: TempWorkspace;
  readonly #major: NodeMajor;
  #known: Record<string, string> | undefined;

  constructor(project: TempWorkspace, major: NodeMajor) {
    this.#project = project;
    this.#major = major;
  }

  /** With that Node first on PATH. Made when a test needs it. */
  get #env(): Record<string, string> {
    this.#known ??= environmentOf(this.#project, this.#major);
    return this.#known;
  }

  /** What a command prints; it has to succeed. */
  async says(words: string[], cwd = this.#project.path): Promise<string> {
    const [command = '', ...args] = words;
    const { stdout } = await run(command, args, { cwd, env: this.#env });
    return stdout;
  }

  /** A server that is started by these words, after its first answer. */
  async serve(
    words: string[],
    cwd = this.#project.path,
    more: Record<string, string> = {}
  ): Promise<McpClient> {
    const [command = '', ...args] = words;
    const env = { ...this.#env, ...more };
    const child = spawn(command, args, { cwd, env });
    const client = new McpClient(child);
    await client.request('initialize', {
      protocolVersion: '2025-11-25',
      capabilities: {},
      clientInfo: { name: 'troupe-test', version: '1' }
    });
    client.send({ jsonrpc: '2.0', method: 'notifications/initialized' });
    return client;
  }
}

function environmentOf(
  project: TempWorkspace,
  major: NodeMajor
): Record<string, string> {
  const bin = join(project.bin, `node-${major}`);
  rmSync(bin, { recursive: true, force: true });
  mkdirSync(bin);
  symlinkSync(join(binaries[major], 'bin/node'), join(bin, 'node'));
  for (const name of ['npm', 'npx']) symlinkSync(ownNpm(name), join(bin, name));
  const env = testEnvironment(project);
  return { ...env, PATH: [bin, env.PATH].join(delimiter) };
}

/** The script of the npm on PATH, which runs on any of the Nodes. */
function ownNpm(name: string): string {
  const found = (process.env.PATH ?? '')
    .split(delimiter)
    .map((folder) => join(folder, name))
    .find((file) => existsSync(file));
  if (!found) throw new Error(`There is no ${name} on PATH.`);
  return realpathSync(found);
}
