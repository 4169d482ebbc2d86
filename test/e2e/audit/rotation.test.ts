import { statSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { verifyJournal } from '../../../src/core/audit/journal/verify.ts';
import { until } from '../../kit/judges/until.ts';
import {
  type RunningCommand,
  runCommand,
  startCommand
} from '../../kit/servers/command-line.ts';
import {
  createRotationStage,
  type Noted,
  type RotationStage,
  type StoppableServer
} from '../../kit/workspaces/rotation-stage.ts';

/** Each rotates once, which takes about a second. */
const rounds = Number(process.env.TROUPE_ROTATION_ROUNDS) || 6;
const perServer = 3;

let stage: RotationStage;
let servers: StoppableServer[];
let follow: RunningCommand;
/** Agents whose spawn was answered. */
const answered: string[] = [];
/** Process ids. */
const killed: number[] = [];

beforeAll(async () => {
  stage = createRotationStage();
  servers = await Promise.all(['a', 'b', 'c'].map(stage.start));
  follow = startCommand(stage, ['log', '--follow', '--json', '-n', '999']);
});

afterAll(async () => {
  follow.child.kill('SIGKILL');
  for (const server of servers) {
    server.child.kill('SIGCONT');
    await server.close();
  }
  stage.remove();
});

async function spawn(server: StoppableServer, name: string): Promise<void> {
  const prompt = `say ${name} ${'and so on '.repeat(200)}`;
  const { data } = await server.call('spawn_rehearsal', { prompt });
  if (typeof data.agent_id === 'string') answered.push(data.agent_id);
}

/** Some agents, and no error if the server is killed meanwhile. */
function spawnSome(server: StoppableServer, round: number): Promise<unknown> {
  return Promise.allSettled(
    Array.from({ length: perServer }, (_, index) =>
      spawn(server, `round ${round}, ${index}`)
    )
  );
}

async function untilRotated(more: number): Promise<void> {
  const before = stage.segments().length;
  const some = () => stage.segments().length >= before + more || undefined;
  await until('a rotation', some, 20_000);
}

const notedIn = (lines: string[]): Noted[] =>
  lines.map((line) => JSON.parse(line));

const idsOf = (type: string, lines: string[]) =>
  notedIn(lines)
    .filter((record) => record.type === type)
    .map((record) => record.agent_id);

test(
  'servers stopped in the midst of a record, and killed, over rotations',
  async () => {
    for (let round = 0; round < rounds; round += 1) {
      const [stopped, ...others] = servers;
      if (!stopped) return;
      const stops = stopped.stopsAtNextRecord();
      const late = spawn(stopped, `late in round ${round}`).catch(() => {});
      await stops;
      const rotated = untilRotated(1);
      await Promise.all(others.map((server) => spawnSome(server, round)));
      for (let more = 0; more < 3; more += 1)
        await Promise.all(others.map((server) => spawnSome(server, round)));
      await rotated;
      if (round % 3 === 2) {
        killed.push(stopped.pid);
        stopped.child.kill('SIGKILL');
        await stopped.exited;
        servers = [...others, await stage.start(`a${round}`)];
      } else {
        stopped.goesOn();
        await late;
        servers = [...others, stopped];
      }
      const second = servers[1];
      if (round % 3 === 1 && second) {
        const spawning = spawnSome(second, round);
        killed.push(second.pid);
        second.child.kill('SIGKILL');
        await spawning;
        servers[1] = await stage.start(`b${round}`);
      }
    }
    for (const server of servers) {
      await server.call('wait_for_agents');
      expect(server.stderr).toBe('');
    }
    expect(stage.segments().length).toBeGreaterThanOrEqual(rounds);
  },
  30_000 + rounds * 10_000
);

test('every answered spawn and its end are in the journal once', async () => {
  const ids = [...answered].sort();
  const noted = (type: string) =>
    idsOf(type, stage.lines()).filter((id) => ids.includes(id));
  await until('all ends', () => {
    const ended = new Set(noted('finished'));
    return ended.size === ids.length || undefined;
  });
  expect(noted('spawned').sort()).toEqual(ids);
  // Several servers may note the end of an agent of a killed server.
  const ofKilled = (id: string) => killed.includes(stage.settledBy(id));
  expect(
    noted('finished')
      .filter((id) => !ofKilled(id))
      .sort()
  ).toEqual(ids.filter((id) => !ofKilled(id)));
});

test('every chain holds, over all segments', async () => {
  const { code, stdout } = await runCommand(stage, ['log', '--verify']);
  expect({ code, stdout }).toEqual({
    code: 0,
    stdout: expect.stringContaining('torn lines 0\nEvery chain holds.')
  });
  const heads = join(stage.record, 'heads');
  const path = join(stage.record, 'iac.jsonl');
  const found = await verifyJournal(path, heads);
  expect(found.records).toBe(stage.lines().length);
});

test('IAC.md and its archive hold every agent once, with its end', async () => {
  const spawned = [...new Set(idsOf('spawned', stage.lines()))].sort();
  await until('the views', () => {
    const shown = stage.shown();
    const isWhole = shown.length >= spawned.length;
    return (
      (isWhole && shown.every(({ word }) => word !== 'Running')) || undefined
    );
  });
  expect(
    stage
      .shown()
      .map(({ id }) => id)
      .sort()
  ).toEqual(spawned);
});

test('log shows each record once, and log --follow has shown them', async () => {
  const lines = stage.lines();
  const { stdout } = await runCommand(stage, ['log', '--json', '-n', '999999']);
  expect(stdout.trimEnd().split('\n')).toEqual(lines);
  const followed = () => follow.stdout.trimEnd().split('\n');
  await until(
    'the last one',
    () => followed().length >= lines.length || undefined
  );
  expect(followed().sort()).toEqual(lines.sort());
});

test('list has the agents that ended last, also from before a rotation', async () => {
  const lines = stage.lines();
  const newest = [...new Set(idsOf('finished', lines).reverse())].slice(0, 30);
  const { data } = (await servers[0]?.call('list', { limit: 30 })) ?? {};
  expect(data?.completed_ids).toEqual(newest.reverse());
});

test('a start finds the place in the journal again', async () => {
  const view = join(stage.path, 'logs/IAC.md');
  // It writes the view, too, when it next looks.
  follow.child.kill('SIGKILL');
  await follow.exited;
  for (const server of servers.splice(0)) await server.close();
  const before = statSync(view).mtimeMs;
  await runCommand(stage, ['list']);
  const server = await stage.start('again');
  servers.push(server);
  await server.call('list');
  expect(statSync(view).mtimeMs).toBe(before);
});
