import assert from 'node:assert/strict';
import { guardEngine } from '../../src/core/engines/load/guard-engine.ts';
import { joinPieces } from '../../src/core/runs/turns/turn-page.ts';
import type { CliEngine, Turn } from '../../src/plugin/plugin.ts';
import { diceFrom } from '../kit/agents/spoiled-output.ts';
import type { Check, CliFixture } from './check.ts';
import { frozen } from './check.ts';
import { eventIn, isSuccess, replyOf, spoiledEvents } from './output.ts';

type ReadTurns = NonNullable<CliEngine['turns']>;

/** How an engine gives the transcript of a run. */
export function turnChecks(engine: CliEngine, all: CliFixture[]): Check[] {
  const guarded = guardEngine(engine);
  if (guarded.kind !== 'cli' || !guarded.turns) return [];
  const read = guarded.turns;
  return [
    {
      title: 'gives plain turns for whatever is an event',
      run: () => {
        for (const event of [null, 7, 'x', [], {}, [null]]) read(event);
        for (let seed = 1; seed <= 300; seed += 1)
          for (const line of spoiledEvents(all, diceFrom(seed)).split('\n'))
            assertPlain(read, line, `seed ${seed}`);
      }
    },
    {
      title: 'gives the same turns for the same event, and changes none',
      run: () => {
        for (const { stdout } of all)
          assert.deepEqual(turnsIn(read, stdout), turnsIn(read, stdout));
      }
    },
    {
      title: 'says the answer once, as the last text of the transcript',
      run: () => {
        for (const fixture of all)
          if (isSuccess(engine, fixture))
            assertAnswerOnce(read, fixture, replyOf(engine, fixture).text);
      }
    },
    {
      title: 'gives a result for a call that came before it',
      run: () => {
        for (const { case: name, stdout } of all) {
          const called = new Set<string>();
          for (const turn of turnsIn(read, stdout)) {
            if (turn.kind === 'tool' && turn.id) called.add(turn.id);
            if (turn.kind === 'result' && turn.id)
              assert.ok(called.has(turn.id), `${name}: no call ${turn.id}`);
          }
        }
      }
    }
  ];
}

function assertPlain(read: ReadTurns, line: string, what: string): void {
  const event = eventIn(line);
  if (event === undefined) return;
  const turns = read(event);
  const copy: unknown = JSON.parse(JSON.stringify(turns));
  assert.deepEqual(copy, turns, `${what}: ${line}`);
}

/** A last text that is only the end of the answer was continued. */
function assertAnswerOnce(
  read: ReadTurns,
  { case: name, stdout }: CliFixture,
  answer: string
): void {
  const texts = joinPieces(turnsIn(read, stdout)).flatMap((turn) =>
    turn.kind === 'text' && turn.within === undefined ? [turn.text.trim()] : []
  );
  const last = texts.pop() ?? '';
  const said = answer.trim();
  assert.ok(
    said === '' || (last !== '' && said.endsWith(last)) || last.endsWith(said),
    `${name}: the answer is ${JSON.stringify(said)}, the last text ${JSON.stringify(last)}`
  );
  assert.ok(
    texts.at(-1) !== last || last === '',
    `${name}: ${JSON.stringify(last)} stands there twice`
  );
}

function turnsIn(read: ReadTurns, stdout: string): Turn[] {
  return stdout.split('\n').flatMap((line) => {
    const event = eventIn(line);
    return event === undefined ? [] : read(frozen(event));
  });
}
