import assert from 'node:assert/strict';
import { classifyWith } from '../../src/core/engines/failures.ts';
import { guardEngine } from '../../src/core/engines/load/guard-engine.ts';
import {
  classifyOutcome,
  type Verdict
} from '../../src/core/runs/end/classify-outcome.ts';
import { EventReducer } from '../../src/core/runs/end/event-reducer.ts';
import type { CliEngine, Engine, Reply } from '../../src/plugin/plugin.ts';
import {
  type Dice,
  diceFrom,
  pick,
  spoil
} from '../kit/agents/spoiled-output.ts';
import type { Check, CliFixture } from './check.ts';
import { frozen } from './check.ts';

/** How an engine reads what its program puts out. */
export function outputChecks(engine: CliEngine, all: CliFixture[]): Check[] {
  const { read } = engine;
  return [
    {
      title: 'takes no empty output for a success',
      run: () => {
        for (const stdout of ['', '\n', ' \t\r\n\n'])
          assertNoSuccess(engine, { case: 'empty', stdout }, 'empty output');
      }
    },
    ...(read ? readChecks(engine, read, all) : []),
    ...(engine.readError ? [errorCheck(engine.readError, all)] : [])
  ];
}

/** What else it gives back would be lost, and so would all after a throw. */
function errorCheck(
  readError: NonNullable<CliEngine['readError']>,
  all: CliFixture[]
): Check {
  const lines = all.flatMap(({ stderr = '' }) => stderr.split('\n'));
  return {
    title: 'takes progress and retries from stderr, and nothing else',
    run: () => {
      for (const before of replies)
        for (const line of ['', '{}', '\0\ud800', ...lines]) {
          const { progress, retrying, ...after } = readError(before, line);
          const { progress: _, retrying: __, ...expected } = before;
          assert.deepEqual(after, expected, `after ${JSON.stringify(line)}`);
        }
    }
  };
}

type Read = NonNullable<CliEngine['read']>;

function readChecks(engine: CliEngine, read: Read, all: CliFixture[]): Check[] {
  const good = all.filter((fixture) => isSuccess(engine, fixture));
  return [
    {
      title: 'passes over events it does not know',
      run: () => {
        for (const before of replies)
          for (const event of strangers) {
            const { progress, ...after } = read(before, event);
            const { progress: doing, ...expected } = before;
            assert.deepEqual(after, expected, `after ${JSON.stringify(event)}`);
          }
      }
    },
    {
      title: 'reads the same events the same way, and changes none',
      run: () => {
        for (const { stdout } of all)
          assert.deepEqual(frozenFold(read, stdout), frozenFold(read, stdout));
      }
    },
    {
      title: 'gives a whole reply back for whatever is an event',
      run: () => {
        for (let seed = 1; seed <= 300; seed += 1)
          assertReadable(engine, all, seed);
      }
    },
    {
      title: 'takes no output that is cut off for a success',
      run: () => {
        for (const fixture of good)
          for (const stdout of cutsOf(fixture.stdout)) {
            const cut = { ...fixture, stdout };
            const isWhole =
              replyOf(engine, cut).text === replyOf(engine, fixture).text;
            if (!isWhole)
              assertNoSuccess(engine, cut, 'output that is cut off');
          }
      }
    },
    {
      title: 'stays failed, whatever comes after a failure',
      run: () => {
        const failure = { code: 'provider_error', message: 'x' } as const;
        for (const { stdout } of good) {
          const before: Reply = { text: '', finished: true, failure };
          const { failure: after } = frozenFold(read, stdout, before);
          assert.ok(after, 'a success after the failure makes it forgotten');
        }
      }
    },
    ...(engine.resumes && good.length > 0
      ? [
          {
            title: 'learns the session of a run from its output',
            run: () =>
              assert.ok(
                good.some((fixture) => replyOf(engine, fixture).sessionId),
                'it says "resumes", but no fixture gives a sessionId'
              )
          }
        ]
      : []),
    ...(engine.asks?.session && good.length > 0
      ? [sessionCheck(engine.asks.session, good)]
      : [])
  ];
}

/** A parked run goes on in the session that this line names. */
function sessionCheck(
  { type, field }: { type: string; field: string },
  fixtures: CliFixture[]
): Check {
  const isNamed = (line: string) => {
    if (!line.startsWith('{')) return false;
    const event = Object(JSON.parse(line));
    return event.type === type && typeof event[field] === 'string';
  };
  return {
    title: 'names its session in the line that "asks.session" gives',
    run: () =>
      assert.ok(
        fixtures.some(({ stdout }) => stdout.split('\n').some(isNamed)),
        `no fixture has a line of type ${type} with the text ${field}`
      )
  };
}

/** The reply as the host folds it. */
export function replyOf(engine: Engine, fixture: CliFixture): Reply {
  return saidOf(engine, fixture).reply;
}

function saidOf(engine: Engine, { stdout }: CliFixture) {
  const guarded = guardEngine(engine);
  if (guarded.kind !== 'cli' || !guarded.read)
    return {
      reply: { text: stdout.trim(), finished: true },
      strayText: stdout.slice(-8192)
    };
  const fold = new EventReducer(guarded);
  for (const line of stdout.split('\n')) fold.add(line);
  return { reply: fold.reply, strayText: fold.stray };
}

/** What the host says of a run that put this out. */
export function verdictOf(engine: Engine, fixture: CliFixture): Verdict {
  const { stderr = '', exitCode = 0 } = fixture;
  return classifyOutcome({
    ...saidOf(engine, fixture),
    exitCode: exitCode ?? undefined,
    stop: undefined,
    neverStarted: false,
    errorText: stderr.slice(-8192),
    classify: classifyWith(guardEngine(engine)),
    label: engine.label ?? engine.name
  });
}

export function isSuccess(engine: CliEngine, fixture: CliFixture): boolean {
  return verdictOf(engine, fixture).status === 'completed';
}

function assertNoSuccess(
  engine: CliEngine,
  fixture: CliFixture,
  what: string
): void {
  assert.ok(
    !isSuccess(engine, fixture),
    `${what} is taken for a success (${fixture.case}): ${JSON.stringify(fixture.stdout.slice(-200))}`
  );
}

const replies: Reply[] = [
  { text: '', finished: false },
  { text: 'so far', finished: false, sessionId: 's', progress: 'at work' },
  { text: 'done', finished: true, costUsd: 1 }
].map(frozen);

const strangers: unknown[] = [
  ...[{}, [], [{}], { type: 'troupe-unknown' }, { type: null }, { type: {} }],
  ...[{ type: ['result'] }, { event: 'troupe-unknown' }, { troupe: true }]
].map(frozen);

function frozenFold(
  read: Read,
  stdout: string,
  first: Reply = { text: '', finished: false }
): Reply {
  return stdout.split('\n').reduce((reply, line) => {
    const event = eventIn(line);
    return event === undefined ? reply : read(frozen(reply), frozen(event));
  }, first);
}

export function eventIn(line: string): unknown {
  try {
    const event: unknown = JSON.parse(line);
    return typeof event === 'object' && event !== null ? event : undefined;
  } catch {
    return undefined;
  }
}

function assertReadable(
  engine: CliEngine,
  all: CliFixture[],
  seed: number
): void {
  const stdout = spoiledEvents(all, diceFrom(seed));
  const { failure } = replyOf(engine, { case: 'spoiled', stdout });
  assert.doesNotMatch(
    failure?.message ?? '',
    /is at fault: read/,
    `seed ${seed}: ${failure?.message}`
  );
}

/** Made-up events, and a recording with a few things wrong with it. */
export function spoiledEvents(all: CliFixture[], dice: Dice): string {
  const stdout = pick(all, dice)?.stdout ?? '';
  const events = Array.from({ length: 5 }, () => JSON.stringify(json(dice, 3)));
  return `${events.join('\n')}\n${spoil(stdout, dice).output.toString()}`;
}

/** Any JSON, with the names that events are fond of. */
function json(dice: Dice, depth: number): unknown {
  const kind = depth > 0 ? dice(8) : 2 + dice(6);
  if (kind === 0)
    return Array.from({ length: dice(4) }, () => json(dice, depth - 1));
  if (kind > 1) return pick(scalars, dice);
  const names = Array.from({ length: dice(5) }, () => pick(fond, dice) ?? 'x');
  return Object.fromEntries(names.map((name) => [name, json(dice, depth - 1)]));
}

const scalars = [null, true, false, 0, -1, 1e308, '', 'x', 'error', 'result'];
const fond = `type subtype event message content text result error item usage
  session_id thread_id data status is_error tool name delta code`.split(/\s+/);

/** At every line, and within some of them. */
function cutsOf(stdout: string): string[] {
  const lines = stdout.split('\n');
  const step = Math.ceil(lines.length / 100);
  return lines.flatMap((line, index) => {
    if (index % step !== 0) return [];
    const before = lines.slice(0, index).join('\n');
    return [before, `${before}\n${line.slice(0, line.length / 2)}`];
  });
}
