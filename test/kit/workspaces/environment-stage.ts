import { expect } from 'vitest';
import type { RecordedCall } from '../servers/recorded-calls.ts';
import { surroundings } from './surroundings.ts';

/** Of our own environment, what every agent gets, byte for byte. */
const forAll = {
  HTTPS_PROXY: 'http://proxy:1',
  LC_ALL: 'C.UTF-8',
  LC_MESSAGES: 'two\nlines="$(touch touched)" = `touch touched`\n',
  GIT_AUTHOR_NAME: "An 'Author'=; touch touched",
  GIT_SSH_COMMAND: 'ssh -i key',
  XDG_CONFIG_HOME: '/nowhere/config',
  TZ: 'UTC'
};

/** What makes some program run another one, or read another file. */
const hostile = {
  BASH_ENV: './evil.sh',
  ENV: './evil.sh',
  PROMPT_COMMAND: './evil.sh',
  PS4: '$(./evil.sh)',
  IFS: 'x',
  CDPATH: '/',
  LD_PRELOAD: '',
  LD_LIBRARY_PATH: '/nowhere',
  DYLD_INSERT_LIBRARIES: '/nowhere',
  NODE_PATH: '/nowhere',
  NODE_REPL_EXTERNAL_MODULE: './evil.sh',
  PYTHONSTARTUP: './evil.sh',
  PERL5OPT: '-Mevil',
  RUBYOPT: '-revil',
  GIT_DIR: '/nowhere',
  GIT_WORK_TREE: '/nowhere',
  GIT_INDEX_FILE: '/nowhere',
  GIT_EXTERNAL_DIFF: './evil.sh',
  GIT_PAGER: './evil.sh',
  GIT_EDITOR: './evil.sh',
  GIT_ASKPASS: './evil.sh',
  GIT_PROXY_COMMAND: './evil.sh',
  GIT_CONFIG_COUNT: '1',
  GIT_CONFIG_KEY_0: 'core.fsmonitor',
  GIT_CONFIG_VALUE_0: './evil.sh',
  EDITOR: './evil.sh',
  'BASH_FUNC_git%%': '() { ./evil.sh; }',
  'not a name': 'x'
};

const isRoot = process.getuid?.() === 0;

/** Beyond that, what each engine gets at access `full`. */
const own: Record<string, string[]> = {
  claude: [
    'ANTHROPIC_API_KEY',
    'ANTHROPIC_BASE_URL',
    'CLAUDE_CODE_MAX_RETRIES',
    ...(isRoot ? ['IS_SANDBOX'] : [])
  ],
  codex: ['CODEX_API_KEY', 'CODEX_HOME', 'OPENAI_API_KEY'],
  copilot: ['GH_TOKEN', 'GITHUB_TOKEN'],
  'cursor-agent': ['CURSOR_API_KEY'],
  gemini: ['GEMINI_API_KEY', 'GEMINI_CLI_TRUST_WORKSPACE', 'GOOGLE_API_KEY'],
  plugin: ['PLUGIN_KEY'],
  template: [],
  chat: []
};

/** What a connection to its server adds for a worker. */
export const ofWorkers: Record<string, string[]> = {
  claude: ['CLAUDE_CODE_MCP_AUTO_BACKGROUND_MS'],
  gemini: ['GEMINI_CLI_HOME']
};

const marks = ['TROUPE_AGENT_DIR', 'TROUPE_AGENT_ID', 'TROUPE_DEPTH'];
const base = ['HOME', 'LANG', 'PATH', ...Object.keys(forAll), ...marks];

/** What shells, terminals and, but for a tmux of the user, we say besides. */
export const byShell = ['PWD', 'OLDPWD', 'SHLVL', '_', 'TMUX_TMPDIR'];
export const byTerminal = [
  ...['TERM', 'COLORTERM', 'TERM_PROGRAM', 'TERM_PROGRAM_VERSION'],
  ...['TMUX', 'TMUX_PANE', 'SHELL']
];

/** What a tmux that we start hands on to the user's own shells. */
export const ofTmux = [
  ...['', 'HOME', 'LANG', 'LC_ALL', 'LC_MESSAGES', 'PATH', 'PWD', 'TZ'],
  ...['EDITOR', 'TMUX_TMPDIR', 'XDG_CONFIG_HOME']
];

/** What a server of a test is started with. */
export const environment = (more: Record<string, string> = {}) => ({
  ...surroundings,
  ...hostile,
  ...forAll,
  PLUGIN_KEY: 'secret-of-plugin',
  ...more
});

/** What came that should not, and what did not that should. */
export function expectOnly(
  { program, env }: RecordedCall,
  more: string[] = [],
  may: string[] = byShell
): void {
  const wanted = new Set([...base, ...(own[program] ?? []), ...more]);
  // The host's own is another than the one that the program may have.
  const names = Object.keys(env).filter((name) => !may.includes(name));
  const wrong = {
    program,
    came: names.filter((name) => !wanted.has(name)),
    missing: [...wanted].filter((name) => env[name] === undefined)
  };
  expect(wrong).toEqual({ program, came: [], missing: [] });
  expect(env).toMatchObject(forAll);
  expect(env.TROUPE_DEPTH).toMatch(/^[01]$/);
}
