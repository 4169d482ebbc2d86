import { expect, test } from 'vitest';
import { chosenProvider, namedVariables } from './codex-config.ts';

const own = (text: string, environment: Record<string, string> = {}) => ({
  environment: { HOME: '/home/x', ...environment },
  read: (path: string) =>
    path === '/home/x/.codex/config.toml' ? text : undefined
});

test.each([
  ['[model_providers.gate]\nenv_key = "GATE_KEY" # mine\n', ['GATE_KEY']],
  ["[ model_providers . \"a.b\" ]\r\n'env_key' = 'K1'\r\n", ['K1']],
  ['model_providers.gate.env_key = "K2"\n', ['K2']],
  [
    'model_providers.a = { name = "x # y", env_key = "K3" }\n[model_providers.b]\nenv_http_headers = { "X-A" = "K4", X-B = "K5" }\n',
    ['K3', 'K4', 'K5']
  ],
  ['[model_providers.b.env_http_headers]\nX-A = "K6"\n', ['K6']],
  [
    'model_providers = { a = { env_key = "K7" }, b = { env_key = "K8" } }',
    ['K7', 'K8']
  ],
  ['# [model_providers.a]\n# env_key = "K"\n', []],
  ['[model_providers.a]\nname = "b"\n[mcp_servers.x]\nenv_key = "K"\n', []],
  ['[mcp_servers.x]\nenv_vars = ["A_KEY"]\nenv = { B_KEY = "b" }\n', []],
  ['[[model_providers.a]]\nenv_key = "K"\n', []],
  ['model = \n= ]{{\n', []]
])('variables that providers name are found in %j', (text, names) => {
  expect(namedVariables(own(text))).toEqual(names);
});

test('CODEX_HOME leads to another file', () => {
  const text = 'model_providers.a.env_key = "K"';
  const { environment } = own(text, { CODEX_HOME: '/other' });
  const read = (path: string) =>
    path === '/other/config.toml' ? text : undefined;
  expect(namedVariables({ environment, read })).toEqual(['K']);
  expect(namedVariables(own(text, { CODEX_HOME: 'relative' }))).toEqual([]);
});

const gate = '[model_providers.gate]\nenv_key = "K"\n';

test.each([
  [gate, undefined],
  [`model_provider = "gate"\n${gate}`, { name: 'gate', keyName: 'K' }],
  [`model_provider = "openai"\n${gate}`, undefined],
  [
    `profile = "work"\n[profiles.work]\nmodel_provider = "gate"\n${gate}`,
    { name: 'gate', keyName: 'K' }
  ],
  ['model_provider = "a"\n[model_providers.a]\nname = "A"\n', { name: 'a' }],
  [
    'model_provider = "a"\n[model_providers.a]\nrequires_openai_auth = true\n',
    undefined
  ]
])('the selected provider is read from %j', (text, provider) => {
  expect(chosenProvider(own(text))).toEqual(provider);
});
