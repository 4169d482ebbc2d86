/** Installs programs for tests into a separate folder. */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * @param dependencies package → version, as in a package.json
 * @param flags additional flags of npm
 * @returns the folder with the programs
 * @throws Error with the message of npm, and its exit code as `status`
 */
export function installEngines(folder, dependencies, flags = []) {
  const modules = join(folder, 'node_modules');
  const programs = join(modules, '.bin');
  mkdirSync(folder, { recursive: true });
  const manifest = { private: true, dependencies };
  writeFileSync(join(folder, 'package.json'), JSON.stringify(manifest));
  // npm warns about "engines" of Claude Code, whose native program runs anyway.
  const quiet = ['--no-audit', '--no-fund', '--loglevel=error'];
  run('npm', ['install', ...quiet, ...flags], folder);
  // Installs the native program where npm does not run scripts.
  const claude = join(modules, '@anthropic-ai', 'claude-code');
  if (existsSync(join(claude, 'install.cjs')))
    run(process.execPath, ['install.cjs'], claude);
  // Copilot unpacks itself at its first start, which would disturb parallel
  // tests.
  const copilot = join(programs, 'copilot');
  if (existsSync(copilot))
    run(copilot, ['--version'], folder, {
      COPILOT_CACHE_HOME: join(folder, 'copilot-cache')
    });
  return programs;
}

const limitMinutes = 10;

function run(command, args, cwd, env = {}) {
  const { status, signal, error, stderr } = spawnSync(command, args, {
    cwd,
    encoding: 'utf8',
    env: { ...process.env, ...env },
    timeout: limitMinutes * 60_000,
    killSignal: 'SIGKILL'
  });
  const what = `${command} ${args[0]}`;
  if (error?.code === 'ETIMEDOUT')
    throw new Error(`${what} was not done after ${limitMinutes} min`);
  if (error) throw error;
  if (status === 0) return;
  const code = status ?? signal;
  const message = stderr.trim() || `${what} exited with ${code}`;
  throw Object.assign(new Error(message), { status: code });
}
