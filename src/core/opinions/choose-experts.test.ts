import { beforeEach, expect, onTestFinished, test } from 'vitest';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../../test/kit/workspaces/temp-workspace.ts';
import { createProcesses } from '../../adapters/child-process/processes.ts';
import type { ApiEngine, CliEngine, Engine } from '../../plugin/plugin.ts';
import { ApiKeys } from '../engines/api/api-keys.ts';
import { EngineRegistry } from '../engines/engine-registry.ts';
import { chooseExperts } from './second-opinion.ts';

let workspace: TempWorkspace;

beforeEach(() => {
  workspace = createTempWorkspace();
  onTestFinished(workspace.remove);
});

/** A program that is installed. */
function cli(name: string): CliEngine {
  const command = workspace.program(name, '');
  return { kind: 'cli', name, description: '', command, args: () => [] };
}

const absent = (name: string): CliEngine => ({
  ...{ kind: 'cli', name, description: '', args: () => [] },
  command: '/nowhere/absent'
});

function api(name: string, keyNames: string[] = []): ApiEngine {
  const generate = () => Promise.reject(new Error('not in this test'));
  return { kind: 'api', name, description: '', keyNames, generate };
}

function choose(engines: Engine[], named?: string[], client = 'x'): string[] {
  return chooseExperts(named, client, {
    registry: new EngineRegistry(engines, {}),
    processes: createProcesses(''),
    keys: new ApiKeys({
      directories: [],
      onProblem: () => undefined,
      environment: {}
    })
  });
}

test('the engines that the caller names are asked, each once, ready or not', () => {
  const engines = [cli('one'), absent('two'), api('three', ['A_KEY'])];
  const named = ['two', 'one', 'two', 'three'];
  expect(choose(engines, named)).toEqual(['two', 'one', 'three']);
});

test('an unknown engine is refused', () => {
  expect(() => choose([cli('one')], ['one', 'none'])).toThrow(
    expect.objectContaining({ code: 'unknown_engine' })
  );
});

test('APIs precede programs, in the order of the registry', () => {
  const engines = [cli('one'), api('two'), cli('three'), api('four')];
  expect(choose(engines)).toEqual(['two', 'four', 'one']);
});

test('at most three are asked, but all that are named', () => {
  const engines = ['one', 'two', 'three', 'four'].map(cli);
  expect(choose(engines)).toEqual(['one', 'two', 'three']);
  const all = engines.map(({ name }) => name);
  expect(choose(engines, all)).toEqual(all);
});

test('the engine of the calling client comes last', () => {
  const engines = [api('one'), cli('two')];
  expect(choose(engines, undefined, 'Acme ONE (cli)')).toEqual(['two', 'one']);
  expect(choose(engines, undefined, 'two')).toEqual(['one', 'two']);
});

test('only engines that are ready are asked', () => {
  const engines = [absent('one'), api('two', ['A_KEY']), cli('three')];
  expect(choose(engines)).toEqual(['three']);
});

test('without an engine that is ready, the call is refused', () => {
  for (const engines of [[], [absent('one'), api('two', ['A_KEY'])]])
    expect(() => choose(engines)).toThrow(
      expect.objectContaining({ code: 'no_engine' })
    );
});
