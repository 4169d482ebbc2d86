import { expect, test } from 'vitest';
import type { CliEngine } from '../../plugin.ts';
import { chooseEngines, type EngineChoice } from './choose-engines.ts';

function engine(name: string): CliEngine {
  return {
    ...{ kind: 'cli', name, description: 'x', command: 'x' },
    args: () => []
  };
}

const [a, b, spare, mine] = ['a', 'b', 'spare', 'mine'].map(engine);

function choose(changes: Partial<EngineChoice> = {}) {
  const chosen = chooseEngines({
    builtin: [a, b].flatMap((known) => known ?? []),
    optional: [spare].flatMap((known) => known ?? []),
    loaded: [mine].flatMap((known) => known ?? []),
    settings: {},
    only: undefined,
    also: [],
    faults: [],
    hasKey: () => false,
    ...changes
  });
  return {
    ...chosen,
    engines: chosen.engines.map(({ name }) => name),
    others: chosen.others.map(({ name }) => name)
  };
}

test('offered are the built-in ones and those of plugins', () => {
  expect(choose()).toEqual({
    engines: ['a', 'b', 'mine'],
    others: ['spare'],
    faults: []
  });
});

test('an optional one is offered when settings, a flag or a command name it', () => {
  expect(choose({ settings: { spare: {} } }).engines).toContain('spare');
  expect(choose({ only: ['spare'] }).engines).toEqual(['spare']);
  expect(choose({ also: ['spare'] }).engines).toContain('spare');
});

test('one that is switched off is not offered, but still known', () => {
  const { engines, others } = choose({ settings: { a: { enabled: false } } });
  expect(engines).toEqual(['b', 'mine']);
  expect(others).toEqual(['a', 'spare']);
});

test('with a list, exactly those are offered', () => {
  expect(choose({ only: ['b', 'mine'] })).toMatchObject({
    engines: ['b', 'mine'],
    others: ['a', 'spare']
  });
});

test('a list with a name that is nowhere stops the start', () => {
  const faults = [{ plugin: './x.mjs', problem: 'boom' }];
  expect(() => choose({ only: ['x'] })).toThrow('There is no engine "x"');
  expect(() => choose({ only: ['x'], faults })).toThrow(
    '(./x.mjs does not load: boom)'
  );
});

test('settings for an engine that is nowhere are a fault', () => {
  expect(choose({ settings: { clod: {}, a: {} } }).faults).toMatchObject([
    { plugin: 'clod', problem: expect.stringContaining('a, b, spare, mine') }
  ]);
  expect(choose({ also: ['clod'] }).faults).toEqual([]);
});
