import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

export const packageRoot = join(import.meta.dirname, '../../..');

export interface MarkdownDocument {
  /** Relative to the package. */
  path: string;
  text: string;
}

/** The documents for readers: in the root, in docs/, and next to what they describe. */
export function documents(): MarkdownDocument[] {
  return [
    ...markdownIn('.'),
    ...markdownBelow('docs'),
    ...markdownIn('plugins'),
    ...markdownBelow('examples'),
    ...markdownBelow('integrations')
  ].map(documentAt);
}

function markdownIn(directory: string): string[] {
  return readdirSync(join(packageRoot, directory))
    .filter((name) => name.endsWith('.md'))
    .map((name) => join(directory, name));
}

export function markdownBelow(directory: string): string[] {
  const inner = readdirSync(join(packageRoot, directory), {
    withFileTypes: true
  }).filter((entry) => entry.isDirectory());
  return [
    ...markdownIn(directory),
    ...inner.flatMap(({ name }) => markdownBelow(join(directory, name)))
  ];
}

export function documentAt(path: string): MarkdownDocument {
  return { path, text: readFileSync(join(packageRoot, path), 'utf8') };
}

/** Contents of the fenced blocks in a language. */
export function blocksOf({ text }: MarkdownDocument, language: string) {
  const fenced = new RegExp(`^\`\`\`${language}\n([\\s\\S]*?)^\`\`\`$`, 'gm');
  return [...text.matchAll(fenced)].map(([, body = '']) => body);
}

/** All fenced blocks of a text, in their order. */
export function fencedIn(text: string): { language: string; body: string }[] {
  return [...text.matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm)].map(
    ([, language = '', body = '']) => ({ language, body })
  );
}

/** The part under a heading, up to the next of its level or above. */
export function sectionOf({ text }: MarkdownDocument, heading: string): string {
  const level = /^#+/.exec(heading)?.[0].length ?? 1;
  const from = `${text}\n`.indexOf(`\n${heading}\n`);
  if (from < 0) throw new Error(`There is no heading "${heading}".`);
  const rest = text.slice(from + heading.length + 2);
  const end = rest.search(new RegExp(`^#{1,${level}} `, 'm'));
  return end < 0 ? rest : rest.slice(0, end);
}

/** What stands in code marks in the first column of a text's tables. */
export function firstColumn(text: string): string[] {
  return [...text.matchAll(/^\| `([^`]+)`/gm)].map(([, name = '']) => name);
}

/** The cells of a text's tables, without their heads. */
export function rowsIn(text: string): string[][] {
  const tables = text.match(/^\|.*\n\|[-|]+\n(\|.*\n?)*/gm) ?? [];
  return tables.flatMap((table) =>
    table
      .trim()
      .split('\n')
      .slice(2)
      .map((row) =>
        row
          .slice(1, -1)
          .split('|')
          .map((cell) => cell.trim())
      )
  );
}
