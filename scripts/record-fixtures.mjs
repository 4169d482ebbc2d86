#!/usr/bin/env node
/**
 * Records what the real CLIs print: `node scripts/record-fixtures.mjs`.
 *
 * Runs claude and codex (from PATH) against our own model server on loopback,
 * with the arguments their plugins give, and stores each run as
 * plugins/fixtures/<engine>/<case>.json. Needs no network and no account.
 * An argument records only the cases whose "<engine>/<case>" contains it.
 */
import { execFileSync, spawn } from 'node:child_process';
import fs from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { rolldown } from 'rolldown';

const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
const NO_SUCH_SESSION = '00000000-0000-4000-8000-000000000000';
const CLOSED_PORT = 'http://127.0.0.1:9';
const QUOTA = 'You exceeded your current quota, please check your billing.';
const UNICODE = 'Grüße — 日本語 👩‍💻 \u2028 \\ "quoted" \t tab';

/** What both CLIs are asked for. `prompt` is read by the model server. */
const shared = {
  success: { prompt: '[[say: All done.]] [[usage: 1200 34 200]]' },
  'tool-write': {
    prompt: '[[write: WORKSPACE/note.txt | hello]] [[say: Wrote it.]]'
  },
  'tool-shell': { prompt: '[[shell: echo hi; exit 3]] [[say: It failed.]]' },
  'resume-first': { prompt: '[[say: One.]]' },
  'resume-second': { prompt: '[[say: Two.]]', after: 'resume-first' },
  'status-400': { prompt: '[[status: 400 | Something is wrong]]' },
  'status-401': { prompt: '[[status: 401 | invalid x-api-key]]' },
  'model-not-found': {
    prompt: '[[status: 404 | model: bad-model not found]]',
    model: 'bad-model'
  },
  'status-429': { prompt: '[[status: 429 | Slow down]]' },
  'status-500': { prompt: '[[status: 500 | Broken]]' },
  'retry-then-success': {
    prompt: '[[status: 500 1 | Broken]] [[say: Second time lucky.]]',
    retries: '2'
  },
  'hang-sigterm': { prompt: '[[hang]]', signal: 'SIGTERM', killAfterMs: 2500 },
  'hang-sigint': { prompt: '[[hang]]', signal: 'SIGINT', killAfterMs: 2500 },
  'tool-sigint': {
    prompt: '[[shell: tail -f /dev/null]] [[say: never]]',
    signal: 'SIGINT',
    killAfterMs: 2500
  },
  'dropped-stream': { prompt: '[[say: Half an ans]] [[drop]]' },
  'dropped-once': { prompt: '[[say: Half an ans]] [[drop: 1]] [[say: Rest.]]' },
  'unknown-session': { prompt: 'hello', sessionId: NO_SUCH_SESSION },
  'empty-answer': { prompt: '[[say:]]' },
  'long-answer': { prompt: '[[repeat: 20000 abcdefghi ]]' },
  unicode: { prompt: `[[say: ${UNICODE}]]` },
  'read-denied': {
    prompt: '[[write: WORKSPACE/note.txt | no]] [[say: I could not.]]',
    access: 'read'
  },
  'max-tokens': { prompt: '[[say: Cut o]] [[stop: max_tokens]]' },
  refusal: { prompt: '[[say: No.]] [[stop: refusal]]' }
};

const cases = {
  claude: {
    ...shared,
    refused: { prompt: 'hello', baseUrl: CLOSED_PORT },
    'not-logged-in': { prompt: 'hello', noKey: true },
    'usage-limit': { prompt: '[[status: 429 | Usage limit, resets 3pm]]' },
    'read-outside-denied': {
      prompt: '[[read: /etc/hostname]] [[say: I may not.]]',
      access: 'read'
    },
    'credit-too-low': {
      prompt: '[[status: 400 | Your credit balance is too low]]'
    },
    'prompt-too-long': {
      prompt:
        '[[status: 400 | prompt is too long: 208310 tokens > 200000 maximum]]'
    },
    overloaded: { prompt: '[[status: 529 | Overloaded]]' },
    'write-denied': {
      prompt: '[[write: WORKSPACE/../out.txt | no]] [[say: I could not.]]',
      access: 'write'
    },
    'root-refused': { prompt: 'hello', env: { IS_SANDBOX: '' }, rootOnly: true }
  },
  codex: {
    ...shared,
    // It waits for the network for ever.
    refused: {
      prompt: 'hello',
      baseUrl: CLOSED_PORT,
      signal: 'SIGTERM',
      killAfterMs: 15_000
    },
    'usage-limit': { prompt: '[[status: 429 | The usage limit is reached]]' },
    'not-logged-in': {
      noKey: true,
      prompt: '[[status: 401 | Missing bearer or basic authentication]]'
    },
    quota: { prompt: `[[status: 429 | ${QUOTA}]]` },
    'prompt-too-long': {
      prompt: '[[status: 400 | Your input exceeds the context window.]]'
    },
    'untrusted-directory': {
      prompt: 'hello',
      access: 'read',
      without: '--skip-git-repo-check'
    }
  }
};

await main(process.argv[2] ?? '');

async function main(filter) {
  const home = path.join(os.homedir(), '.cache', 'troupe-recordings');
  await fs.rm(home, { recursive: true, force: true });
  const library = await bundle(path.join(home, 'bundle'));
  const jobs = [];
  for (const [engineName, list] of Object.entries(cases)) {
    const engine = library[engineName];
    const version = String(execFileSync(engine.command, ['--version']));
    const sessions = {};
    for (const [name, wanted] of Object.entries(list)) {
      if (wanted.rootOnly && process.getuid?.() !== 0) continue;
      if (!`${engineName}/${name}`.includes(filter)) continue;
      jobs.push(async () => {
        const place = path.join(home, engineName, wanted.after ?? name);
        // Nothing may be awaited before the session is promised.
        const run = Promise.resolve(sessions[wanted.after]).then((id) =>
          record(library, engine, place, { sessionId: id, ...wanted })
        );
        sessions[name] = run.then(({ stdout }) => sessionOf(engine, stdout));
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
  await fs.rm(home, { recursive: true, force: true });
}

/** The TypeScript this needs, as one module that Node 20 can import. */
async function bundle(directory) {
  const from = (file) => `from ${JSON.stringify(path.join(root, file))};`;
  const lines = [
    `export { default as claude } ${from('plugins/claude.ts')}`,
    `export { default as codex } ${from('plugins/codex.ts')}`,
    `export * ${from('src/testing/model-server/server.ts')}`
  ];
  await fs.mkdir(directory, { recursive: true });
  const input = path.join(directory, 'input.ts');
  await fs.writeFile(input, lines.join('\n'));
  const built = await rolldown({ input, platform: 'node' });
  const file = path.join(directory, 'bundle.mjs');
  await built.write({ file, format: 'esm' });
  return import(pathToFileURL(file).href);
}

async function record({ startModelServer }, engine, place, wanted) {
  const workspace = path.join(place, 'workspace');
  const home = path.join(place, 'home');
  await fs.mkdir(workspace, { recursive: true });
  await fs.mkdir(path.join(home, '.codex'), { recursive: true });
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
  const key = engine.name === 'claude' ? 'ANTHROPIC_API_KEY' : 'CODEX_API_KEY';
  const child = spawn(engine.command, args, {
    cwd: workspace,
    detached: true,
    env: {
      PATH: process.env.PATH,
      HOME: home,
      LANG: 'C.UTF-8',
      TERM: 'dumb',
      DISABLE_TELEMETRY: '1',
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
      ...engine.env?.set?.(request),
      CLAUDE_CODE_MAX_RETRIES: wanted.retries ?? '0',
      ...(wanted.noKey ? {} : { [key]: 'test-key' }),
      ...wanted.env
    }
  });
  if (wanted.signal) {
    setTimeout(() => child.kill(wanted.signal), wanted.killAfterMs);
  }
  const output = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr']) {
    child[name].setEncoding('utf8').on('data', (chunk) => {
      output[name] += chunk;
    });
  }
  child.stdin.on('error', () => {}).end(engine.stdin(request));
  const [exitCode, signal] = await new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (...end) => resolve(end));
  });
  await server.close();
  const clean = cleaner(place, server.url);
  return {
    args: args.map(clean),
    exitCode,
    signal,
    stdout: clean(output.stdout),
    stderr: clean(output.stderr)
  };
}

/** Takes this machine out of a text: its paths, its ports, its sockets. */
function cleaner(place, url) {
  const slug = (text) => text.replaceAll(/[^A-Za-z0-9]/g, '-');
  return (text) =>
    text
      .replaceAll(path.join(place, 'workspace'), '/workspace')
      .replaceAll(slug(path.join(place, 'workspace')), '-workspace')
      .replaceAll(path.join(place, 'home'), '/home/user')
      .replaceAll(`${place}/`, '/')
      .replaceAll(new URL(url).host, '127.0.0.1:8080')
      .replaceAll(/\/tmp\/cc-socks\/\d+\.sock/g, '/tmp/cc-socks/1.sock')
      .replaceAll(os.hostname(), 'host');
}

function sessionOf(engine, stdout) {
  const field = engine.name === 'claude' ? 'session_id' : 'thread_id';
  return new RegExp(`"${field}":"([^"]+)"`).exec(stdout)?.[1];
}
