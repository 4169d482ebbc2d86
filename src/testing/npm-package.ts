import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { packageRoot } from './documents.ts';
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

/**
 * Puts this package into the workspace as npm installs it, but with the
 * dependencies that are here already. Gives its directory.
 */
export function installOurs(workspace: TempWorkspace): string {
  const modules = join(workspace.path, 'node_modules');
  const troupe = join(modules, 'troupe');
  mkdirSync(troupe, { recursive: true });
  const tarball = pack(workspace, packageRoot);
  execFileSync('tar', ['-xzf', tarball, '--strip-components=1', '-C', troupe]);
  for (const name of Object.keys(manifestOf(troupe).dependencies)) {
    mkdirSync(dirname(join(modules, name)), { recursive: true });
    symlinkSync(join(packageRoot, 'node_modules', name), join(modules, name));
  }
  return troupe;
}

function npm(workspace: TempWorkspace, cwd: string, args: string[]): void {
  execFileSync('npm', args, {
    cwd,
    env: testEnvironment(workspace),
    stdio: ['ignore', 'ignore', 'pipe']
  });
}

interface Manifest {
  name: string;
  version: string;
  dependencies: Record<string, string>;
}

function manifestOf(directory: string): Manifest {
  return JSON.parse(readFileSync(join(directory, 'package.json'), 'utf8'));
}
