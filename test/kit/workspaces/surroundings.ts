/** Everybody's secrets and the marks of the sessions we may run in. */
export const surroundings = {
  ANTHROPIC_API_KEY: 'secret-of-claude',
  ANTHROPIC_BASE_URL: 'http://127.0.0.1:9',
  OPENAI_API_KEY: 'secret-of-openai',
  CODEX_API_KEY: 'sk-3',
  CODEX_HOME: '/codex-home',
  ...Object.fromEntries(
    ['GEMINI_API_KEY', 'GOOGLE_API_KEY', 'XAI_API_KEY', 'MISTRAL_API_KEY']
      .concat('CURSOR_API_KEY', 'GH_TOKEN', 'GITHUB_TOKEN', 'NPM_TOKEN')
      .map((name) => [name, 'not-theirs'])
  ),
  DATABASE_URL: 'postgres://u:p@h/d',
  CLAUDECODE: '1',
  CLAUDE_CODE_ENTRYPOINT: 'cli',
  CLAUDE_CODE_SESSION_ID: 'outer',
  CLAUDE_CODE_MESSAGING_TOKEN: 'outer',
  CLAUDE_PROJECT_DIR: '/',
  CODEX_SANDBOX: 'seatbelt',
  CODEX_THREAD_ID: 'outer',
  NODE_OPTIONS: '--max-old-space-size=512',
  TROUPE_MAX_CONCURRENT: '20',
  HTTPS_PROXY: 'http://proxy:1',
  LC_ALL: 'C.UTF-8',
  TZ: 'UTC'
};
