import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { until } from '../../../../test/kit/judges/until.ts';
import { outcomeWith } from '../../../../test/kit/servers/run-facts.ts';
import {
  createSpawnStage,
  type SpawnStage
} from '../../../../test/kit/workspaces/spawn-stage.ts';
import { EndCommand } from './end-command.ts';

let stage: SpawnStage;

const told = () => join(stage.workspace.home, 'told');
const toldText = () =>
  existsSync(told()) ? readFileSync(told(), 'utf8') : undefined;

/** Writes its stdin and its environment to files. */
const tells = (more = '') => ({
  command: ['/bin/sh', '-c', `cat >>"$1"; ${more}`, 'tell', told()]
});

function commandOf(more: Partial<ConstructorParameters<typeof EndCommand>[0]>) {
  const problems: string[] = [];
  const { store, processes, workspace } = stage;
  const command = new EndCommand({
    store,
    processes,
    workspace: workspace.path,
    ...tells(),
    minSeconds: 0,
    redact: (text) => text.replaceAll('hidden', '[redacted]'),
    onProblem: (problem) => problems.push(String(problem)),
    ...more
  });
  return { command, problems };
}

/** An agent that has ended, on a stage without a command. */
async function ended() {
  stage = await createSpawnStage();
  const request = { engine: 'shell', prompt: 'exit 0 # hidden' };
  const { record } = await stage.spawner.spawn(request);
  const { agent_id: id } = record;
  const outcome = await until('its end', () => stage.store.outcomeOf(id));
  return { record, outcome };
}

test('the command gets the facts of the end on stdin, without secrets', async () => {
  const { record, outcome } = await ended();
  const { command, problems } = commandOf({});
  command.run(record, {
    ...outcome,
    status: 'failed',
    error_code: 'quota',
    duration_ms: 32_140,
    cost_usd: 0.25
  });
  await command.finished(20_000);
  expect(problems).toEqual([]);
  expect(JSON.parse(toldText() ?? '')).toEqual({
    agent_id: record.agent_id,
    engine: 'shell',
    task: 'exit 0 # [redacted]',
    status: 'failed',
    error_code: 'quota',
    seconds: 32.1,
    cost_usd: 0.25,
    workspace: stage.workspace.path
  });
});

test('the command has no key of troupe and no mark of an agent', async () => {
  const { record, outcome } = await ended();
  vi.stubEnv('GEMINI_API_KEY', 'a-key-of-troupe');
  vi.stubEnv('DISPLAY', ':7');
  vi.stubEnv('TROUPE_AGENT_ID', 'abad1dea');
  const { command } = commandOf(tells('env >>"$1"'));
  command.run(record, outcome);
  await command.finished(20_000);
  expect(toldText()).toContain('DISPLAY=:7\n');
  expect(toldText()).not.toMatch(/GEMINI_API_KEY|TROUPE_AGENT_ID|TROUPE_DEPTH/);
});

test('of several processes that report one end, one runs the command', async () => {
  const { record, outcome } = await ended();
  const all = [1, 2, 3].map(() => commandOf({}));
  for (const { command } of all) command.run(record, outcome);
  for (const { command, problems } of all) {
    await command.finished(20_000);
    expect(problems).toEqual([]);
  }
  expect(toldText()?.match(/agent_id/g)).toHaveLength(1);
});

test('a run that is too short is not reported', async () => {
  const { record, outcome } = await ended();
  const { command } = commandOf({ minSeconds: 30 });
  command.run(record, { ...outcome, duration_ms: 29_999 });
  await command.finished(20_000);
  expect(toldText()).toBeUndefined();
  command.run(record, { ...outcome, duration_ms: 30_000 });
  await command.finished(20_000);
  expect(toldText()).toBeDefined();
});

test.each([
  [
    ['/bin/sh', '-c', 'echo "a hidden reason" >&2; exit 3'],
    '/bin/sh exited with code 3: a [redacted] reason.'
  ],
  [['no-such-program'], 'there is no program "no-such-program".'],
  [['/bin/sh', '-c', 'exec sleep 100'], '/bin/sh was stopped after 1 s.']
])('a failure of %j is reported', async (words, reason) => {
  const { record, outcome } = await ended();
  const { command, problems } = commandOf({ command: words, limitSeconds: 1 });
  command.run(record, outcome);
  await command.finished(20_000);
  expect(problems).toEqual([expect.stringContaining(reason)]);
});

test('a removed folder of the agent keeps the command from running, silently', async () => {
  const { record, outcome } = await ended();
  const { command, problems } = commandOf({});
  stage.store.discard(record.agent_id);
  command.run(record, outcomeWith({ duration_ms: outcome.duration_ms }));
  await command.finished(20_000);
  expect([toldText(), problems]).toEqual([undefined, []]);
});

test('waiting for a command ends before a command that takes long', async () => {
  const { record, outcome } = await ended();
  const { command } = commandOf({ command: ['/bin/sh', '-c', 'sleep 100'] });
  const began = performance.now();
  command.run(record, outcome);
  await command.finished(100);
  expect(performance.now() - began).toBeLessThan(5000);
  const folder = join(stage.store.directoryOf(record.agent_id), 'on-end');
  const { place } = stage.processes.self;
  await stage.processes.stop({ directory: folder, place });
});

test('a server runs the configured command at the end of its agents', async () => {
  stage = await createSpawnStage({
    config: {
      onEnd: {
        command: ['/bin/sh', '-c', 'cat >>told; echo >>told'],
        bell: false,
        minSeconds: 0
      }
    }
  });
  const path = join(stage.workspace.path, 'told');
  const ids: string[] = [];
  for (const prompt of ['echo done', 'exit 1']) {
    const request = { engine: 'shell', prompt };
    const { record } = await stage.spawner.spawn(request);
    ids.push(record.agent_id);
  }
  const { record } = await stage.spawner.spawn({ engine: 'gone', prompt: 'x' });
  ids.push(record.agent_id);
  const lines = await until('all ends', () => {
    const text = existsSync(path) ? readFileSync(path, 'utf8') : '';
    const found = text.split('\n').filter(Boolean);
    return found.length === 3 ? found : undefined;
  });
  const facts = lines.map((line) => JSON.parse(line));
  expect(facts.map(({ agent_id }) => agent_id).sort()).toEqual(ids.sort());
  expect(facts.map(({ status }) => status).sort()).toEqual([
    ...['completed', 'failed', 'failed']
  ]);
});
