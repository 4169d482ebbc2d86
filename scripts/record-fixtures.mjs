#!/usr/bin/env node
/**
 * Records what the real CLIs print: `npm run test:engines -- --record`, which
 * calls this with the pinned versions on PATH.
 *
 * Runs the CLIs of `cases`, from PATH, against our model server on loopback,
 * with the arguments of their plugins, and stores each run as
 * plugins/fixtures/<engine>/<case>.json. Needs no network and no account.
 * With an argument, records only the cases whose "<engine>/<case>" contains it.
 */
import { execFileSync, spawn } from 'node:child_process';
import { existsSync, realpathSync } from 'node:fs';
import fs from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { rolldown } from 'rolldown';
import { cases } from './recorded-cases.mjs';

const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
const base = path.join(os.homedir(), '.cache', 'troupe-recordings');
const bundleFolder = path.join(base, 'bundle');
const copilotCache = path.join(base, 'copilot-cache');

/** The environment of a user who is logged in. */
const logins = {
  claude: { ANTHROPIC_API_KEY: 'test-key' },
  codex: { CODEX_API_KEY: 'test-key' },
  copilot: {
    COPILOT_OFFLINE: 'true',
    COPILOT_PROVIDER_API_KEY: 'test-key',
    COPILOT_MODEL: 'test-model'
  },
  'gemini-cli': { GEMINI_API_KEY: 'test-key' }
};

await main(process.argv[2] ?? '');

async function main(filter) {
  await fs.rm(base, { recursive: true, force: true });
  const library = await bundle(bundleFolder);
  const jobs = [];
  for (const [key, list] of Object.entries(cases)) {
    const engine = library[key];
    const engineName = engine.name;
    const version = String(
      execFileSync(engine.command, ['--version'], { env: environment(base) })
    );
    const sessions = {};
    for (const [name, wanted] of Object.entries(list)) {
      if (wanted.rootOnly && process.getuid?.() !== 0) continue;
      if (!`${engineName}/${name}`.includes(filter)) continue;
      jobs.push(async () => {
        const place = path.join(base, engineName, wanted.after ?? name);
        // No await before `sessions[name]` is set: later cases use it.
        const run = Promise.resolve(sessions[wanted.after]).then((id) =>
          record(library, engine, place, { sessionId: id, ...wanted })
        );
        sessions[name] = run.then(({ stdout }) => sessionOf(stdout));
        const recording = {
          engine: engineName,
          version: /\d+\.\d+\.\d+/.exec(version)?.[0] ?? '',
          case: name,
          ...(await run)
        };
        const directory = path.join(root, 'plugins/fixtures', engineName);
        await fs.mkdir(directory, { recursive: true });
        const text = `${JSON.stringify(recording, null, 2)}\n`;
        await fs.writeFile(path.join(directory, `${name}.json`), text);
        console.log(`${engineName}/${name}`, recording.exitCode);
      });
    }
  }
  const workers = Array.from({ length: 6 }, async () => {
    for (let job = jobs.shift(); job; job = jobs.shift()) await job();
  });
  await Promise.all(workers);
  await fs.rm(base, { recursive: true, force: true });
}

/** Bundles the TypeScript sources as a module that Node 20 can import. */
async function bundle(directory) {
  const from = (file) => `from ${JSON.stringify(path.join(root, file))};`;
  const lines = [
    `export { default as claude } ${from('plugins/claude.ts')}`,
    `export { default as codex } ${from('plugins/codex.ts')}`,
    `export { default as copilot } ${from('plugins/copilot.ts')}`,
    `export { default as geminiCli } ${from('plugins/gemini-cli.ts')}`,
    `export * ${from('test/model-server/server.ts')}`
  ];
  await fs.mkdir(directory, { recursive: true });
  const input = path.join(directory, 'input.ts');
  await fs.writeFile(input, lines.join('\n'));
  const built = await rolldown({ input, platform: 'node' });
  const limits = 'gemini-cli-limits.toml';
  await fs.copyFile(
    path.join(root, 'plugins', 'shared', limits),
    path.join(directory, limits)
  );
  const file = path.join(directory, 'bundle.mjs');
  await built.write({ file, format: 'esm' });
  return import(pathToFileURL(file).href);
}

async function record({ startModelServer }, engine, place, wanted) {
  const workspace = path.join(place, 'workspace');
  const home = path.join(place, 'home');
  await fs.mkdir(workspace, { recursive: true });
  await fs.mkdir(path.join(home, '.codex'), { recursive: true });
  const temporary = await prepareGemini(home, wanted);
  const server = await startModelServer();
  const request = {
    prompt: wanted.prompt.replaceAll('WORKSPACE', workspace),
    access: wanted.access ?? 'full',
    cwd: workspace,
    baseUrl: wanted.baseUrl ?? server.url,
    asRoot: process.getuid?.() === 0,
    ...(wanted.model ? { model: wanted.model } : {}),
    ...(wanted.sessionId ? { sessionId: wanted.sessionId } : {})
  };
  const args = engine.args(request).filter((arg) => arg !== wanted.without);
  const child = spawn(engine.command, args, {
    cwd: workspace,
    detached: true,
    env: {
      ...environment(home),
      ...engine.env?.set?.(request),
      // Gemini CLI writes error reports to TMPDIR and prints their paths.
      ...(engine.name === 'gemini-cli' ? { TMPDIR: temporary } : {}),
      CLAUDE_CODE_MAX_RETRIES: wanted.retries ?? '0',
      ...(wanted.noKey ? {} : logins[engine.name]),
      ...wanted.env
    }
  });
  // Signals the whole group: a wrapper may not pass the signal on.
  if (wanted.signal) {
    setTimeout(
      () => process.kill(-child.pid, wanted.signal),
      wanted.killAfterMs
    );
  }
  const output = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr']) {
    child[name].setEncoding('utf8').on('data', (chunk) => {
      output[name] += chunk;
    });
  }
  const input = engine.stdin?.(request) ?? request.prompt;
  child.stdin.on('error', () => {}).end(input);
  const [exitCode, signal] = await new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (...end) => resolve(end));
  });
  await server.close();
  const clean = cleaner(place, server.url, engine.command);
  return {
    args: args.map(clean),
    exitCode,
    signal,
    stdout: clean(output.stdout),
    stderr: clean(output.stderr)
  };
}

function environment(home) {
  return {
    PATH: process.env.PATH,
    HOME: home,
    LANG: 'C.UTF-8',
    TERM: 'dumb',
    DISABLE_TELEMETRY: '1',
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    // Copilot unpacks itself to this folder, once.
    COPILOT_CACHE_HOME: copilotCache
  };
}

/** Sets the login and the number of attempts, for which there are no flags. */
async function prepareGemini(home, { retries = '0', settings }) {
  const file = path.join(home, '.gemini', 'settings.json');
  const usual = {
    general: { maxAttempts: Number(retries) + 1 },
    security: { auth: { selectedType: 'gemini-api-key' } }
  };
  await fs.mkdir(path.dirname(file), { recursive: true });
  await fs.writeFile(file, JSON.stringify(settings ?? usual));
  const temporary = path.join(home, 'temporary');
  await fs.mkdir(temporary, { recursive: true });
  return temporary;
}

/** Replaces the paths, the ports and the sockets of this machine in a text. */
function cleaner(place, url, command) {
  const packages = packagesOf(command) ?? bundleFolder;
  const slug = (text) => text.replaceAll(/[^A-Za-z0-9]/g, '-');
  return (text) =>
    text
      .replaceAll(copilotCache, '/home/user/.cache/copilot')
      .replaceAll(bundleFolder, '/usr/lib/troupe')
      .replaceAll(packages, '/usr/lib/node_modules')
      .replaceAll(path.join(place, 'workspace'), '/workspace')
      .replaceAll(slug(path.join(place, 'workspace')), '-workspace')
      .replaceAll(path.join(place, 'home'), '/home/user')
      .replaceAll(`${place}/`, '/')
      .replaceAll(new URL(url).host, '127.0.0.1:8080')
      .replaceAll(/\/tmp\/cc-socks\/\d+\.sock/g, '/tmp/cc-socks/1.sock')
      .replaceAll(os.hostname(), 'host');
}

/** The folder of npm packages that a program is in, if it is in one. */
function packagesOf(command) {
  const [file] = process.env.PATH.split(path.delimiter)
    .map((folder) => path.join(folder, command))
    .filter(existsSync);
  return /^.*?\/node_modules/.exec(realpathSync(file))?.[0];
}

function sessionOf(stdout) {
  const field = /"(?:session_id|thread_id|sessionId)":"([^"]+)"/;
  return field.exec(stdout)?.[1];
}
