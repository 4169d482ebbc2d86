import { chmodSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../test/kit/workspaces/temp-workspace.ts';
import { type Config, loadConfig } from '../config/config.ts';
import type { ApiKeys } from '../core/engines/api/api-keys.ts';
import { wire } from './wiring.ts';
import { wireEngines } from './wiring-engines.ts';

const mask = '[redacted]';
const grok = { keyNames: ['XAI_API_KEY'] };

let workspace: TempWorkspace;
let config: Config;
let keys: ApiKeys;
/** What the journal and the views make of a text. */
let redact: (text: string) => string;

beforeEach(async () => {
  workspace = createTempWorkspace();
  onTestFinished(() => {
    vi.unstubAllEnvs();
    workspace.remove();
  });
  vi.stubEnv('XAI_API_KEY', undefined);
  vi.stubEnv('SOME_TOKEN', 'secret-of-environment');
  const { path, home } = workspace;
  config = await loadConfig({ workspace: path }, { HOME: home });
  const engines = await wireEngines(config);
  ({ keys } = engines);
  const { runJournal, release } = wire(config, engines.registry, keys);
  onTestFinished(release);
  redact = (text) => runJournal.redact(text);
});

function writeKey(value: string): void {
  const name = 'api_keys.json';
  workspace.write(name, JSON.stringify({ XAI_API_KEY: value }));
  chmodSync(join(workspace.path, name), 0o600);
}

test('the key of an agent stays hidden after the file has another one', () => {
  writeKey('first-key-of-grok');
  expect(keys.find(grok)?.value).toBe('first-key-of-grok');
  writeKey('second-key-of-grok');
  expect(redact('first-key-of-grok')).toBe(mask);
  expect(redact('second-key-of-grok')).toBe(mask);
});

test('a key is hidden as soon as it is in the file, and after that is gone', () => {
  expect(redact('later-key-of-grok')).toBe('later-key-of-grok');
  writeKey('later-key-of-grok');
  expect(redact('later-key-of-grok')).toBe(mask);
  writeKey('');
  expect(redact('later-key-of-grok')).toBe(mask);
});

test('secrets in the settings of engines stay hidden after these are replaced', () => {
  for (const value of ['first-configured', 'second-configured']) {
    config.engines = { claude: { env: { GATEWAY_TOKEN: value } } };
    expect(redact(value)).toBe(mask);
  }
  expect(redact('first-configured')).toBe(mask);
});

test('the secrets of the environment are hidden, in whatever variable', () => {
  expect(redact('secret-of-environment')).toBe(mask);
  vi.stubEnv('XAI_API_KEY', 'new-in-environment');
  expect(redact('new-in-environment')).toBe(mask);
});
