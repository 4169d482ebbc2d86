/**
 * The contract of an engine as tests, for built-in engines and for yours
 * (`troupe/testing`). They need neither the program nor a provider.
 */
import assert from 'node:assert/strict';
import { guardEngine } from '../../src/core/engines/load/guard-engine.ts';
import { problemOf } from '../../src/core/engines/load/load-engines.ts';
import type { Engine } from '../../src/plugin/plugin.ts';
import { apiChecks } from './api.ts';
import {
  type ApiFixture,
  type Check,
  type CliFixture,
  dataOf,
  type Fixture
} from './check.ts';
import { declarationChecks } from './declaration.ts';
import { memberChecks } from './members.ts';
import { outputChecks } from './output.ts';
import { recordedChecks } from './recorded.ts';
import { startChecks } from './start.ts';
import { turnChecks } from './turns.ts';
import { workerChecks } from './worker.ts';

export type { ApiFixture, CliFixture, Expected } from './check.ts';
export type { Fixture };

/** The test runner: vitest, jest, mocha, node:test. */
export interface Runner {
  describe: (name: string, body: () => void) => unknown;
  it: (title: string, body: () => void | Promise<void>) => unknown;
}

/**
 * Declares the tests of an engine.
 * @param fixtures what its program put out, or its provider answered; the
 *   more there are, the more is tested
 * @param runner default: the global `describe` and `it`, else `node:test`
 */
export function describeEngine(
  engine: Engine,
  fixtures: Fixture[] = [],
  { describe, it }: Runner = defaultRunner()
): void {
  const before = problemWith(engine);
  const name = before === undefined ? engine.name : 'of this file';
  describe(`the engine ${name}`, () => {
    it('is an engine that the host loads', () =>
      assert.equal(problemWith(engine), undefined));
    if (before !== undefined) return;
    const data = dataOf(engine);
    for (const { title, run } of checksOf(engine, fixtures)) it(title, run);
    it('is the same after all of this', () =>
      assert.equal(dataOf(engine), data));
  });
}

function checksOf(engine: Engine, fixtures: Fixture[]): Check[] {
  return [
    ...declarationChecks(engine),
    ...memberChecks(engine),
    ...(engine.kind === 'cli'
      ? [
          ...startChecks(engine),
          ...workerChecks(engine),
          ...outputChecks(engine, fixtures.filter(isOfProgram)),
          ...turnChecks(engine, fixtures.filter(isOfProgram))
        ]
      : apiChecks(engine, fixtures.filter(isOfApi))),
    ...recordedChecks(engine, fixtures)
  ];
}

function problemWith(engine: unknown): string | undefined {
  try {
    guardEngine(engine);
    return undefined;
  } catch (error) {
    return problemOf(error);
  }
}

function isOfApi(fixture: Fixture): fixture is ApiFixture {
  return 'response' in fixture;
}

function isOfProgram(fixture: Fixture): fixture is CliFixture {
  return 'stdout' in fixture;
}

function defaultRunner(): Runner {
  const describe: unknown = Reflect.get(globalThis, 'describe');
  const it: unknown = Reflect.get(globalThis, 'it');
  if (typeof describe === 'function' && typeof it === 'function')
    return {
      describe: (name, body) => describe(name, body),
      it: (title, body) => it(title, body)
    };
  return process.getBuiltinModule('node:test');
}
