import { expect, test } from 'vitest';
import type { CliEngine } from '../../plugin/plugin.ts';
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

test('built-in engines and engines of plugins are offered', () => {
  expect(choose()).toEqual({
    engines: ['a', 'b', 'mine'],
    others: ['spare'],
    faults: []
  });
});

test('an optional engine is offered when settings, a flag or a command name it', () => {
  expect(choose({ settings: { spare: {} } }).engines).toContain('spare');
  expect(choose({ only: ['spare'] }).engines).toEqual(['spare']);
  expect(choose({ also: ['spare'] }).engines).toContain('spare');
});

test('an engine that is switched off is known but not offered', () => {
  const { engines, others } = choose({ settings: { a: { enabled: false } } });
  expect(engines).toEqual(['b', 'mine']);
  expect(others).toEqual(['a', 'spare']);
});

test('a list of names restricts the offered engines to these', () => {
  expect(choose({ only: ['b', 'mine'] })).toMatchObject({
    engines: ['b', 'mine'],
    others: ['a', 'spare']
  });
});

test('a list with an unknown name is an error', () => {
  const faults = [{ plugin: './x.mjs', problem: 'boom' }];
  expect(() => choose({ only: ['x'] })).toThrow('There is no engine "x"');
  expect(() => choose({ only: ['x'], faults })).toThrow(
    '(./x.mjs does not load: boom)'
  );
});

test('settings for an unknown engine are a fault', () => {
  expect(choose({ settings: { clod: {}, a: {} } }).faults).toMatchObject([
    { plugin: 'clod', problem: expect.stringContaining('a, b, spare, mine') }
  ]);
  expect(choose({ also: ['clod'] }).faults).toEqual([]);
});
