import { expect, test } from 'vitest';
import { commandsIn } from './shell-words.ts';

test.each([
  [
    'troupe run claude "a \\"b\\" # c" --access read # why',
    [['troupe', 'run', 'claude', 'a "b" # c', '--access', 'read']]
  ],
  [
    'A=1 npm ci && npm run demo   # seconds',
    [
      ['npm', 'ci'],
      ['npm', 'run', 'demo']
    ]
  ],
  [
    'git diff | troupe run codex - > a.md',
    [
      ['git', 'diff'],
      ['troupe', 'run', 'codex', '-']
    ]
  ],
  [
    "troupe mcp \\\n  --http '[::1]:9000'",
    [['troupe', 'mcp', '--http', '[::1]:9000']]
  ],
  ['export T="$(cat .agents/http/token)"', []],
  ['git merge troupe/<agent_id>', [['git', 'merge', 'troupe/<agent_id>']]]
])('%j is taken apart as a shell does', (text, commands) => {
  expect(commandsIn(text)).toEqual(commands);
});
