import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { testEnvironment } from './mcp-client.ts';
import type { TempWorkspace } from './temp-workspace.ts';

/** Makes the tarball of a package, as it would be published, in HOME. */
export function pack(workspace: TempWorkspace, directory: string): string {
  npm(workspace, directory, [
    'pack',
    '--ignore-scripts',
    `--pack-destination=${workspace.home}`
  ]);
  const { name, version } = manifestOf(directory);
  const file = `${name.replace(/^@/, '').replace('/', '-')}-${version}.tgz`;
  if (!readdirSync(workspace.home).includes(file))
    throw new Error(`npm pack made no ${file}`);
  return join(workspace.home, file);
}

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

function npm(workspace: TempWorkspace, cwd: string, args: string[]): void {
  execFileSync('npm', args, {
    cwd,
    env: testEnvironment(workspace),
    stdio: ['ignore', 'ignore', 'pipe']
  });
}

function manifestOf(directory: string): { name: string; version: string } {
  return JSON.parse(readFileSync(join(directory, 'package.json'), 'utf8'));
}
