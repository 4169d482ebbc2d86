import type { Block } from './blocks.ts';

/** Blocks that no general rule can judge. */
interface Elsewhere {
  path: string;
  language: string;
  /** What the block begins with; default: all of the language. */
  begin?: string;
  /** The test that uses them, or why nothing can. */
  by: string;
}

const elsewhere: Elsewhere[] = [
  {
    path: 'CONTRIBUTING.md',
    language: 'ts',
    by: 'a test as it might be written'
  },
  {
    path: 'docs/guides/agents.md',
    language: 'text',
    begin: 'spawn ──►',
    by: 'a picture'
  },
  {
    path: 'docs/guides/audit-log.md',
    language: 'text',
    begin: '### 🤖',
    by: 'an entry of one day; src/core/audit has the tests of its form'
  },
  {
    path: 'docs/guides/command-line.md',
    language: 'json',
    by: 'test/e2e/answers/shown-json.test.ts'
  },
  {
    path: 'docs/start/concepts.md',
    language: 'text',
    begin: 'you ──',
    by: 'a picture'
  },
  {
    path: 'docs/reference/engines.md',
    language: 'text',
    by: 'command lines with what differs left open; plugins/*.test.ts have them whole'
  },
  {
    path: 'docs/guides/http.md',
    language: 'js',
    by: 'test/e2e/http/http-embed.test.ts'
  },
  {
    path: 'docs/guides/migrate/gs-squad-mcp.md',
    language: 'ejs',
    by: 'test/e2e/cli/migrate.test.ts'
  },
  {
    path: 'docs/guides/squads.md',
    language: 'markdown',
    by: 'test/e2e/squads/squads-doc.test.ts'
  },
  {
    path: 'docs/guides/templates.md',
    language: 'ejs',
    by: 'test/e2e/docs/templates-doc.test.ts'
  },
  {
    path: 'docs/guides/templates.md',
    language: 'text',
    by: 'test/e2e/docs/templates-doc.test.ts'
  },
  {
    path: 'docs/guides/trust.md',
    language: 'json',
    by: 'test/e2e/trust/trust-command.test.ts'
  },
  {
    path: 'docs/guides/troubleshooting.md',
    language: 'text',
    by: 'test/e2e/docs/troubleshooting.test.ts'
  },
  {
    path: 'docs/guides/troubleshooting.md',
    language: 'json',
    begin: '{ "permissions"',
    by: 'a setting of Claude Code; test/engines/troubleshooting.test.ts'
  }
];

export function isLookedAtElsewhere(block: Block): boolean {
  return elsewhere.some(
    ({ path, language, begin = '' }) =>
      block.path === path &&
      block.language === language &&
      block.body.startsWith(begin)
  );
}

/** Entries of the list that stand for no block any more. */
export function leftOver(blocks: Block[]): string[] {
  return elsewhere
    .filter(
      ({ path, language, begin = '' }) =>
        !blocks.some(
          (block) =>
            block.path === path &&
            block.language === language &&
            block.body.startsWith(begin)
        )
    )
    .map(({ path, language }) => `${path}: ${language}`);
}

/** The tests that the list names. */
export function testsNamed(): string[] {
  return elsewhere.map(({ by }) => by).filter((by) => /^src\/\S+$/.test(by));
}
