import { expect, test } from 'vitest';
import { z } from 'zod';
import { timesOf } from '../host/wiring-times.ts';
import { isObject } from './overrides.ts';
import { configSchema } from './schema.ts';
import { wideningsIn } from './widening.ts';

const around = {
  workspace: '/workspace',
  file: '/workspace/troupe.config.json',
  timesOf
};

const settingsIn = (written: unknown) =>
  wideningsIn(written, around).map(({ setting }) => setting);

/**
 * The widest value of each setting that can widen. A new setting belongs here
 * or into `neverWide`.
 */
const widest: Record<string, unknown> = {
  'engines.x.command': 'evil',
  'engines.x.args': ['--evil'],
  'engines.x.env': { EVIL: '1' },
  'engines.x.baseUrl': 'http://evil.example',
  'engines.x.passEnv': ['SECRET'],
  'engines.x.timeoutSeconds': 0,
  'engines.x.idleTimeoutSeconds': 0,
  plugins: ['./evil.mjs'],
  maxConcurrent: 1000,
  maxConcurrentApi: 1000,
  maxSpawnsPerMinute: 0,
  maxDepth: 9,
  outputLimitMegabytes: 1e9,
  rolesDirectory: '../evil',
  'retention.automatic': true,
  'squad.engineCommand': 'evil',
  'squad.runTemplatePath': 'evil.template',
  'squad.createChatTemplatePath': 'evil.template',
  'squad.templateVariables': ['SECRET'],
  'squad.processTimeoutMs': 1e8,
  'asks.allow': [{ tool: 'Bash' }],
  'asks.parkAfter': 0.01,
  'council.statePath': '/tmp/evil',
  'orchestrator.readyTimeoutSeconds': 1e5,
  'http.allowedHosts': ['evil.example'],
  'http.allowedOrigins': ['https://evil.example'],
  'http.sessions': 1000,
  'http.idleMinutes': 10_000,
  'http.bodyMegabytes': 64,
  'journal.megabytes': 1e9,
  'onEnd.command': ['evil']
};

/** Their default is the maximum, or they allow nothing. */
const neverWide = [
  '$schema',
  'engines.x.enabled',
  'engines.x.model',
  'engines.x.stream',
  'engines.x.maxConcurrent',
  'engines.x.retrySeconds',
  'toolsets',
  'maxAccess',
  'prices',
  'onDisconnect',
  'diskLimitMegabytes',
  'retention.days',
  'retention.keep',
  'retention.megabytes',
  'squad.stateMode',
  'squad.engine',
  'squad.executionMode',
  'squad.sequentialDelayMs',
  'asks.deny',
  'council.scope',
  'orchestrator.backend',
  'orchestrator.engine',
  'orchestrator.restart',
  'orchestrator.runningTask',
  'orchestrator.stalledAfterSeconds',
  'orchestrator.heartbeatSeconds',
  'orchestrator.keepFailedPane',
  'iac.entries',
  'iac.megabytes',
  'onEnd.bell',
  'onEnd.osc',
  'onEnd.minSeconds'
];

test('every setting is listed as one that can widen or never does', () => {
  const { properties } = z.toJSONSchema(configSchema(), { io: 'input' });
  const all = Object.entries(properties ?? {}).flatMap(([key, inner]) =>
    key === 'engines' ? engineKeys(inner) : keysOf(key, inner)
  );
  expect(all.length).toBeGreaterThan(40);
  expect(all.sort()).toEqual([...Object.keys(widest), ...neverWide].sort());
});

function keysOf(path: string, schema: unknown): string[] {
  const inner = isObject(schema) ? schema.properties : undefined;
  return isObject(inner)
    ? Object.keys(inner).map((key) => `${path}.${key}`)
    : [path];
}

function engineKeys(schema: unknown): string[] {
  const text = JSON.stringify(schema);
  const { additionalProperties } = JSON.parse(text);
  return keysOf('engines.x', additionalProperties.anyOf[1]);
}

test.each(Object.entries(widest))('%s of %j needs trust', (name, value) => {
  expect(settingsIn(nested(name.split('.'), value))).toEqual([name]);
});

test.each([
  [{ maxConcurrent: 8, maxDepth: 1, maxSpawnsPerMinute: 5 }],
  [{ maxAccess: 'full' }],
  [{ engines: { claude: true, openai: {}, codex: { enabled: false } } }],
  [{ engines: { copilot: { timeoutSeconds: 600, idleTimeoutSeconds: 9 } } }],
  [{ engines: { codex: { args: [], env: {}, maxConcurrent: 99 } } }],
  [{ plugins: [], squad: { templateVariables: [] }, http: { sessions: 1 } }],
  [{ rolesDirectory: './roles', council: { statePath: 'talk.json' } }],
  [{ retention: { days: 0, automatic: false } }],
  [null],
  ['plugins']
])('%j needs no trust', (written) => {
  expect(settingsIn(written)).toEqual([]);
});

test('a time limit is compared with the default of its own engine', () => {
  const written = (engine: string) => ({
    engines: { [engine]: { timeoutSeconds: 600 } }
  });
  expect(settingsIn(written('copilot'))).toEqual([]);
  expect(settingsIn(written('codex'))).toEqual([
    'engines.codex.timeoutSeconds'
  ]);
});

function nested([first = '', ...rest]: string[], value: unknown): unknown {
  return { [first]: rest.length === 0 ? value : nested(rest, value) };
}
