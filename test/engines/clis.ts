import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join, resolve } from 'node:path';
import { needing } from '../kit/workspaces/needs.ts';

const root = join(import.meta.dirname, '../..');

/** Where `npm run test:engines` puts the real programs. */
export const cliFolder = resolve(
  process.env.TROUPE_TEST_CLIS ??
    join(root, '.cache', 'engines', 'node_modules', '.bin')
);

/** A real CLI and what its user would set to be logged in. */
export interface RealCli {
  /** Of its engine. */
  name: 'claude' | 'codex' | 'copilot' | 'gemini-cli';
  program: string;
  tool: string;
  login: Record<string, string>;
  /** Settings that no variable holds. */
  settings?: { file: string; text: string };
  /** In HOME: ended in its first second it leaves this, and the next waits. */
  lock?: string;
}

export const claude: RealCli = {
  name: 'claude',
  program: 'claude',
  tool: 'spawn_claude',
  login: { ANTHROPIC_API_KEY: 'test-key' }
};

export const codex: RealCli = {
  name: 'codex',
  program: 'codex',
  tool: 'spawn_codex',
  login: { CODEX_API_KEY: 'test-key' }
};

export const copilot: RealCli = {
  name: 'copilot',
  program: 'copilot',
  tool: 'spawn_copilot',
  // A provider of one's own, in place of GitHub's.
  login: {
    COPILOT_OFFLINE: 'true',
    COPILOT_PROVIDER_API_KEY: 'test-key',
    COPILOT_MODEL: 'test-model',
    // It counts before it asks, and takes an unknown model for a small one.
    COPILOT_PROVIDER_MAX_PROMPT_TOKENS: '1000000'
  }
};

export const geminiCli: RealCli = {
  name: 'gemini-cli',
  program: 'gemini',
  tool: 'spawn_gemini_cli',
  login: { GEMINI_API_KEY: 'test-key' },
  // With an address of its own it does not guess that.
  settings: {
    file: '.gemini/settings.json',
    text: '{"security": {"auth": {"selectedType": "gemini-api-key"}}}'
  },
  lock: '.gemini/projects.json.lock'
};

export const allClis = [claude, codex, copilot, geminiCli];

/** `test`, for when the programs are installed. */
export function testWith(...clis: RealCli[]) {
  const missing = clis.filter(
    ({ program }) => !existsSync(join(cliFolder, program))
  );
  const names = clis.map(({ name }) => `the real ${name}`).join(' and ');
  return needing(names, missing.length === 0);
}

/** What a user's shell has: the programs first on PATH, their keys. */
export function userEnvironment(...clis: RealCli[]): Record<string, string> {
  const folders = [cliFolder, dirname(process.execPath)];
  return {
    PATH: [...folders, '/usr/local/bin', '/usr/bin', '/bin'].join(delimiter),
    // These tests send no telemetry.
    DISABLE_TELEMETRY: '1',
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    // Copilot unpacks itself there, once for all.
    COPILOT_CACHE_HOME: join(cliFolder, '..', '..', 'copilot-cache'),
    ...Object.assign({}, ...clis.map(({ login }) => login))
  };
}

/** Writes the files that users of these programs have in HOME. */
export function furnishHome(home: string, clis: RealCli[]): void {
  for (const { settings } of clis) {
    if (!settings) continue;
    const file = join(home, settings.file);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, settings.text);
  }
}
