import { expect, test } from 'vitest';
import { documentAt, documents } from '../kit/judges/documents.ts';
import { anchorsOf, linksOf } from './links.ts';

const pages = new Map(documents().map((page) => [page.path, page]));

/** Clicks on links of ours from README.md to each page, by following them. */
const clicks = new Map([['README.md', 0]]);
for (const [path, count] of clicks)
  for (const { path: to } of linksOf(documentAt(path)))
    if (to !== undefined && pages.has(to) && !clicks.has(to))
      clicks.set(to, count + 1);

test.each([
  ['How do I install it?', 'README.md', 'start'],
  ['What do I write into .mcp.json?', 'docs/start/clients.md', 'claude-code'],
  ['How do I set up Codex?', 'docs/start/clients.md', 'codex'],
  [
    'Why does Claude Code not show the tools?',
    'docs/guides/troubleshooting.md',
    'the-tools-do-not-appear-in-claude-code'
  ],
  [
    'Why does Claude Code ask before each call?',
    'docs/guides/troubleshooting.md',
    'claude-code-asks-before-each-call'
  ],
  ['Should I commit .mcp.json?', 'docs/guides/share-settings.md', ''],
  ["How do I pass a gateway's key?", 'docs/guides/gateway.md', ''],
  [
    'Where do API keys go?',
    'docs/guides/api-keys.md',
    'where-a-key-is-looked-for'
  ],
  ['How do I cap spend?', 'docs/guides/cap-spend.md', ''],
  [
    'How do I learn that an agent has ended?',
    'docs/guides/notifications.md',
    ''
  ],
  ['Can an agent delete my files?', 'docs/guides/access.md', 'the-ceiling'],
  [
    'Does the engine enforce the access?',
    'docs/guides/access.md',
    'enforced-or-asked-for'
  ],
  ['What may a cloned repository do?', 'docs/guides/trust.md', ''],
  ['Which models can I use?', 'docs/reference/engines.md', 'claude'],
  [
    'Which versions of the engines work?',
    'docs/reference/engines.md',
    'what-is-verified'
  ],
  [
    'What does an error code mean?',
    'docs/reference/errors.md',
    'failed-agents'
  ],
  [
    'How long does a wait last?',
    'docs/start/clients.md',
    'how-long-one-wait-lasts'
  ],
  [
    'How do I raise the time limit?',
    'docs/guides/configuration.md',
    'settings-of-an-engine'
  ],
  ['How many agents run at once?', 'docs/guides/limits.md', ''],
  ['How do I give each agent a worktree?', 'docs/guides/isolation.md', ''],
  ['Which roles are there?', 'docs/reference/tools.md', 'built-in-roles'],
  [
    'Where is everything stored?',
    'docs/internals/durability.md',
    'where-things-are'
  ],
  ['How do I delete old agents?', 'docs/guides/command-line.md', 'clean'],
  ['What do exit codes mean?', 'docs/guides/command-line.md', 'exit-codes'],
  ['How do I write an engine?', 'plugins/README.md', ''],
  ['How does it compare with others?', 'docs/start/alternatives.md', ''],
  ['How do I serve many clients with one server?', 'docs/guides/http.md', '']
])('"%s" is answered two clicks from the README', (_question, path, anchor) => {
  expect(clicks.get(path) ?? Number.POSITIVE_INFINITY).toBeLessThanOrEqual(2);
  if (anchor !== '') expect(anchorsOf(documentAt(path).text)).toContain(anchor);
});
