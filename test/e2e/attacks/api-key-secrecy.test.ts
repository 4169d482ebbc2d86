import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  processEnvironments,
  processTable
} from '../../../src/adapters/child-process/process-table.ts';
import { readIfExists } from '../../../src/core/state/files/atomic-file.ts';
import { standIn } from '../../kit/agents/stand-in.ts';
import { until } from '../../kit/judges/until.ts';
import {
  type ApiWorkspace,
  createApiWorkspace,
  ended,
  keyNames,
  spawnApi
} from '../../kit/workspaces/api-workspace.ts';
import { says, saysInHalves, sends } from '../../provider-fake/answers.ts';
import {
  type ApiName,
  type Asked,
  apiEngines
} from '../../provider-fake/asked.ts';

let workspace: ApiWorkspace;
let keys: string[];

beforeEach(async () => {
  workspace = await createApiWorkspace();
  keys = Object.values(workspace.fakes).map(({ key }) => key);
});

afterEach(() => workspace.close());

/** Files that hold a key, whole or its greater part, but for the key file. */
function filesWithKeys(): string[] {
  const keyFile = join(workspace.path, 'api_keys.json');
  return [workspace.path, workspace.home].flatMap(filesBelow).filter((path) => {
    if (path === keyFile) return false;
    // A view is first written to a temporary file, which is soon gone.
    const isFile = statSync(path, { throwIfNoEntry: false })?.isFile();
    return isFile === true && holdsKey(readIfExists(path) ?? '');
  });
}

/** Folders of agents that are being made may go while they are listed. */
function filesBelow(root: string): string[] {
  for (let tries = 0; ; tries += 1)
    try {
      const names = readdirSync(root, { recursive: true });
      return names.map((name) => join(root, String(name)));
    } catch (error) {
      if (tries === 20) throw error;
    }
}

function holdsKey(text: string): boolean {
  return keys.some((key) => text.includes(key.slice(0, -3)));
}

function echo(text: (key: string) => string) {
  return ({ key }: Asked) => JSON.stringify({ error: { message: text(key) } });
}

test('a key that a provider sends back is in no answer, file or log', async () => {
  const server = await workspace.start();
  const answers = {
    'at the front': sends(
      401,
      echo((key) => `Who is ${key}?`)
    ),
    'at the cut': sends(
      400,
      echo((key) => 'w'.repeat(485) + key)
    ),
    'in a page': sends(403, ({ key }) => `<b>${key}</b>`, 'text/html'),
    'in place of JSON': sends(200, ({ key }) => key)
  };
  const told = apiEngines.flatMap((engine) =>
    Object.entries(answers).map(async ([prompt, answer]) => {
      workspace.fakes[engine].plan(prompt, answer);
      return ended(server, await spawnApi(server, engine, prompt));
    })
  );
  for (const data of await Promise.all(told)) {
    expect(data.status).toBe('failed');
    expect(holdsKey(JSON.stringify(data)), String(data.error)).toBe(false);
  }
  await logged('at the front');
  expect(filesWithKeys()).toEqual([]);
  expect(server.stderr).toBe('');
});

test('a key that no header can hold is reported at once, and not quoted', async () => {
  keys.push('key-with\na-break', 'key-with a-break');
  workspace.keys(
    Object.fromEntries(
      apiEngines.map((name) => [keyNames[name], 'key-with\na-break'])
    )
  );
  const server = await workspace.start();
  for (const engine of apiEngines) {
    const tool = `spawn_${engine.replace('-', '_')}`;
    const { data } = await server.call(tool, { prompt: 'Hi' });
    expect(data).toMatchObject({ status: 'failed', error_code: 'auth' });
    expect(data.error).toContain(keyNames[engine]);
    expect(holdsKey(JSON.stringify(data)), String(data.error)).toBe(false);
  }
  expect(filesWithKeys()).toEqual([]);
});

test('an agent that prints keys does not get them into the log', async () => {
  const server = await workspace.start();
  const said = keys.join(' and ');
  // The log shows the first and the last 25,000 characters of a long one.
  const long = `${'a'.repeat(24_990)}${said}${'b'.repeat(60_000)}${said}${'c'.repeat(24_990)}`;
  const { grok } = workspace.fakes;
  grok.plan('Print them', says(said));
  grok.plan('Print much', says(long));
  for (const prompt of ['Print them', 'Print much']) {
    const data = await ended(server, await spawnApi(server, 'grok', prompt));
    expect(data.status).toBe('completed');
  }
  const text = await logged('Print much');
  expect(text).toContain('[redacted]');
  // The caller gets the words as they were, from the agent's own files.
  const spawns = join(workspace.record, 'spawns');
  const found = filesWithKeys();
  expect(found.filter((path) => path.startsWith(spawns))).not.toEqual([]);
  expect(found.filter((path) => !path.startsWith(spawns))).toEqual([]);
});

test('no argument and no other agent has a key', async () => {
  const claude = standIn(workspace, 'claude');
  const server = await workspace.start({
    env: {
      XAI_API_KEY: 'key-of-environment',
      MISTRAL_API_KEY: 'second-of-environment'
    }
  });
  keys.push('key-of-environment', 'second-of-environment');
  const halves = saysInHalves('half', ' and half');
  const ids: [ApiName, string][] = [];
  for (const engine of apiEngines) {
    workspace.fakes[engine].plan('Wait', halves.answer);
    ids.push([engine, await spawnApi(server, engine, 'Wait')]);
  }
  for (const { asked } of Object.values(workspace.fakes))
    await until('the call', () => asked('Wait')[0]);
  const lines = commandLines();
  expect(lines.some((line) => line.includes('api-agent'))).toBe(true);
  expect(lines.filter(holdsKey)).toEqual([]);
  expect(environmentsOf(ids.map(([, id]) => id))).toEqual(
    ids.map(([engine]) => [workspace.fakes[engine].key])
  );
  const { data } = await server.call('spawn_claude', { prompt: 'Hi' });
  await ended(server, String(data.agent_id));
  expect(holdsKey(JSON.stringify(claude.seen().env))).toBe(false);
  halves.release();
  for (const [, id] of ids)
    expect(await ended(server, id)).toMatchObject({ status: 'completed' });
  expect(filesWithKeys()).toEqual([]);
});

/** The arguments of all processes. */
function commandLines(): string[] {
  if (!existsSync('/proc/self/cmdline'))
    return execFileSync('ps', ['-A', '-ww', '-o', 'args='], {
      encoding: 'utf8'
    }).split('\n');
  return processTable().flatMap(({ pid }) => {
    try {
      return [readFileSync(`/proc/${pid}/cmdline`, 'utf8')];
    } catch {
      return [];
    }
  });
}

/** The keys in each agent's processes: its own and no other. */
function environmentsOf(ids: string[]): string[][] {
  const pids = processTable().map(({ pid }) => pid);
  const texts = [...processEnvironments(pids).values()];
  return ids.map((id) => {
    const own = texts.filter((text) => text.includes(`TROUPE_AGENT_ID=${id}`));
    expect(own.length).toBeGreaterThan(0);
    return keys.filter((key) => own.some((text) => text.includes(key)));
  });
}

/** IAC.md, once the agent of a prompt has ended there. */
function logged(prompt: string): Promise<string> {
  const path = join(workspace.path, 'logs', 'IAC.md');
  return until('the log', () => {
    const text = readIfExists(path) ?? '';
    const done = new RegExp(`### 🤖 ${prompt}\n- \\[x\\]`);
    return done.test(text) ? text : undefined;
  });
}
