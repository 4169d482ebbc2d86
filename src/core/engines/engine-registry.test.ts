import { expect, test } from 'vitest';
import { toolNameOf } from '../../interfaces/mcp/tool/spawn-tool-name.ts';
import type { ApiEngine, CliEngine } from '../../plugin/plugin.ts';
import { HostError } from '../errors.ts';
import {
  EngineRegistry,
  type EngineSettings,
  enforcementOf,
  labelOf
} from './engine-registry.ts';

const cli: CliEngine = {
  kind: 'cli',
  name: 'some-cli',
  description: 'x',
  command: 'some',
  args: () => ['go'],
  models: { default: 'fast', aliases: { fast: 'fast-1.5' } },
  timeoutSeconds: (prompt) => prompt.length
};

const api: ApiEngine = {
  kind: 'api',
  name: 'api',
  label: 'The API',
  description: 'x',
  keyNames: ['KEY'],
  generate: async () => ({ text: '', finished: true })
};

function registryWith(settings: EngineSettings = {}): EngineRegistry {
  return new EngineRegistry([cli, api], {
    'some-cli': settings,
    api: settings
  });
}

test('engines are found by name and listed in their order of registration', () => {
  const registry = registryWith();
  expect(registry.all()).toEqual([cli, api]);
  expect(registry.find('api')).toBe(api);
  expect(registry.find('none')).toBeUndefined();
  expect(registry.get('some-cli')).toBe(cli);
});

test('a later engine replaces an earlier one of the same name', () => {
  const mine = { ...cli, description: 'mine' };
  expect(new EngineRegistry([cli, api, mine], {}).all()).toEqual([mine, api]);
});

test('an engine that is not offered is known, but not found', () => {
  const registry = new EngineRegistry([cli], {}, [], [api]);
  expect(registry.known('api')).toBe(api);
  expect(registry.known('some-cli')).toBe(cli);
  expect(registry.find('api')).toBeUndefined();
  expect(registry.all()).toEqual([cli]);
});

test('an unknown name is refused with the list of known names', () => {
  try {
    registryWith().get('none');
    expect.unreachable();
  } catch (error) {
    if (!(error instanceof HostError)) throw error;
    expect(error.code).toBe('unknown_engine');
    expect(error.hint).toContain('some-cli, api');
  }
});

test('a model is the requested one, else the configured one, else the default, with aliases resolved', () => {
  const plain = registryWith();
  expect(plain.modelOf(cli, undefined)).toBe('fast-1.5');
  expect(plain.modelOf(cli, 'fast')).toBe('fast-1.5');
  expect(plain.modelOf(cli, 'other-9')).toBe('other-9');
  expect(plain.modelOf(cli, 'constructor')).toBe('constructor');
  expect(plain.modelOf(api, undefined)).toBeUndefined();
  const configured = registryWith({ model: 'mine' });
  expect(configured.modelOf(cli, undefined)).toBe('mine');
  expect(configured.modelOf(cli, 'fast')).toBe('fast-1.5');
});

test('time limits are the configured ones, else the declared ones, else 300 and 600 seconds', () => {
  const plain = registryWith();
  expect(plain.timeoutOf(cli, '12345')).toBe(5);
  expect(plain.timeoutOf(api, 'x')).toBe(300);
  expect(plain.idleTimeoutOf(cli)).toBe(600);
  expect(plain.idleTimeoutOf(api)).toBe(0);
  const configured = registryWith({ timeoutSeconds: 0, idleTimeoutSeconds: 7 });
  expect(configured.timeoutOf(cli, 'x')).toBe(0);
  expect(configured.idleTimeoutOf(cli)).toBe(7);
});

test('the configuration can replace the command', () => {
  expect(registryWith().commandOf(cli)).toBe('some');
  expect(registryWith({ command: '/opt/some' }).commandOf(cli)).toBe(
    '/opt/some'
  );
});

test('an engine with another program keeps all of its arguments', () => {
  const registry = registryWith({ command: '/opt/some', args: ['-v'] });
  const other = registry.withProgram(cli, './mine');
  expect(registry.commandOf(other)).toBe('./mine');
  expect(registry.argumentsBefore(other)).toEqual([]);
  const request = { prompt: 'x', cwd: '/', asRoot: false };
  expect(other.args({ ...request, access: 'read' })).toEqual(['-v', 'go']);
});

test('an access counts as enforced only when the engine declares it', () => {
  expect(enforcementOf(cli, 'read')).toBe('asked');
  const access = { read: 'enforced', write: 'asked', full: 'asked' } as const;
  expect(enforcementOf({ ...cli, access }, 'read')).toBe('enforced');
  expect(enforcementOf(api, 'read')).toBe('enforced');
});

test('the label and the tool name follow from the engine name', () => {
  expect(labelOf(cli)).toBe('Some-cli');
  expect(labelOf(api)).toBe('The API');
  expect(toolNameOf({ ...cli, name: 'x-y-z' })).toBe('spawn_x_y_z');
});
