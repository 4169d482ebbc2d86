import { execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { packageRoot } from '../judges/documents.ts';
import { testEnvironment } from '../servers/mcp-client.ts';
import type { TempWorkspace } from './temp-workspace.ts';

export interface Packed {
  /** The tarball. */
  file: string;
  bytes: number;
  unpackedBytes: number;
  /** Paths of the files in it, below the package. */
  paths: string[];
}

/** Makes the tarball of a package, as it would be published, in HOME. */
export function packed(workspace: TempWorkspace, directory: string): Packed {
  const told = npm(workspace, directory, [
    'pack',
    '--ignore-scripts',
    '--json',
    `--pack-destination=${workspace.home}`
  ]);
  const [made] = packReport.parse(JSON.parse(told));
  return {
    file: join(workspace.home, made.filename),
    bytes: made.size,
    unpackedBytes: made.unpackedSize,
    paths: made.files.map(({ path }) => path)
  };
}

const packReport = z.tuple([
  z.object({
    filename: z.string(),
    size: z.number(),
    unpackedSize: z.number(),
    files: z.array(z.object({ path: z.string() }))
  })
]);

/** Installs a tarball into the workspace; nothing is downloaded. */
export function install(workspace: TempWorkspace, tarball: string): void {
  npm(workspace, workspace.path, [
    'install',
    '--offline',
    '--ignore-scripts',
    '--no-audit',
    '--no-fund',
    tarball
  ]);
}

/** Puts this package into the workspace as npm does. Gives its directory. */
export function installOurs(
  workspace: TempWorkspace,
  modules = join(workspace.path, 'node_modules')
): string {
  const troupe = join(modules, 'troupe');
  mkdirSync(troupe, { recursive: true });
  const { file } = packed(workspace, packageRoot);
  execFileSync('tar', ['-xzf', file, '--strip-components=1', '-C', troupe]);
  return troupe;
}

function npm(workspace: TempWorkspace, cwd: string, args: string[]): string {
  return execFileSync('npm', args, {
    cwd,
    env: testEnvironment(workspace),
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe']
  });
}
