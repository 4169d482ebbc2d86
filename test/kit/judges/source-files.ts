import { readdirSync, readFileSync } from 'node:fs';
import { join, posix, sep } from 'node:path';

export const root = join(import.meta.dirname, '../../..');

export interface SourceFile {
  /** From the root, with slashes. */
  path: string;
  text: string;
  lines: number;
}

/** What one file imports. */
export interface Import {
  from: string;
  /** A file of ours, from the root; else the bare specifier. */
  target: string;
  typeOnly: boolean;
  /** Inside a function: `import()`. */
  lazy: boolean;
}

/** All source files below some directories of the root. */
export function sourceFiles(...directories: string[]): SourceFile[] {
  return directories
    .flatMap((directory) =>
      readdirSync(join(root, directory), { recursive: true }).map((name) =>
        posix.join(directory, String(name).replaceAll(sep, '/'))
      )
    )
    .filter((path) => /\.(ts|mjs|cjs)$/.test(path))
    .sort()
    .map((path) => {
      const text = readFileSync(join(root, path), 'utf8');
      return { path, text, lines: text.split('\n').length - 1 };
    });
}

/** Not a test, and not what only tests need. */
export function isProduct({ path }: SourceFile): boolean {
  return !path.endsWith('.test.ts') && !path.startsWith('test/');
}

const importing =
  /^(?:import|export)\s(type\s)?[^;'"`]*?from\s+['"]([^'"]+)['"]|^import\s+['"]([^'"]+)['"]|\bimport\(\s*['"]([^'"]+)['"]\s*\)/gm;

export function importsOf({ path, text }: SourceFile): Import[] {
  return [...text.matchAll(importing)].map((match) => {
    const [, type, from, bare, lazy] = match;
    const specifier = from ?? bare ?? lazy ?? '';
    return {
      from: path,
      target: specifier.startsWith('.')
        ? posix.join(posix.dirname(path), specifier)
        : specifier,
      typeOnly: type !== undefined,
      lazy: lazy !== undefined
    };
  });
}

/** The first cell of each row of the table below a heading. */
export function tableCodes(document: string, heading: string): string[] {
  const text = readFileSync(join(root, document), 'utf8');
  const section = text.split(`## ${heading}\n`)[1]?.split('\n## ')[0] ?? '';
  return [...section.matchAll(/^\| `([^`]+)` \|/gm)].map(([, code]) =>
    String(code)
  );
}
