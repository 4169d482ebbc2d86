/** @type {import('troupe/plugin').CliEngine} */
export default {
  kind: 'cli',
  name: 'aider',
  label: 'Aider',
  description: 'Edits files with any model. Runs no commands.',
  command: 'aider',
  install: 'python3 -m pip install aider-install && aider-install',
  access: { read: 'asked', write: 'asked', full: 'asked' },
  tools: (access) => (access === 'read' ? 'none' : 'edits'),
  timeoutSeconds: 600,

  args: ({ access, model }) => [
    ...['--message-file', '/dev/stdin', '--yes-always'],
    ...['--no-pretty', '--no-stream', '--no-fancy-input'],
    ...['--no-check-update', '--no-show-release-notes'],
    ...['--no-analytics', '--no-gitignore'],
    ...(access === 'read' ? ['--chat-mode', 'ask'] : []),
    // Commits are the user's, and so is what runs.
    ...(access === 'full'
      ? []
      : ['--no-auto-commits', '--no-suggest-shell-commands']),
    ...(model ? ['--model', model] : [])
  ],

  env: {
    keep: ['AIDER_*', 'ANTHROPIC_API_KEY', 'OPENAI_API_KEY', 'OPENAI_API_BASE'],
    set: ({ baseUrl }) => (baseUrl ? { OPENAI_API_BASE: baseUrl } : {})
  },

  probe: {
    version: ['--version'],
    loginHint: 'Set ANTHROPIC_API_KEY or OPENAI_API_KEY.'
  }
};
