import { existsSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { z } from 'zod';
import { type MarkdownDocument, packageRoot } from '../kit/judges/documents.ts';

export interface Link {
  from: string;
  /** As it is written. */
  target: string;
  /** Relative to the package; undefined for an address. */
  path?: string;
  anchor?: string;
}

/** Links, pictures and definitions of a document, code aside. */
export function linksOf({ path: from, text }: MarkdownDocument): Link[] {
  // Each piece of code as a whole: from its end to the next lies prose.
  const prose = text
    .replace(/^( *`{3,})[\s\S]*?^\1$/gm, '')
    .replace(/(`+)[^`\n]+\1/g, (code, _ticks, at: number, all: string) =>
      all.startsWith('](', at + code.length) ? code : ''
    );
  const targets = [
    ...prose.matchAll(/\]\(<?([^)\s>]+)>?(?: "[^"]*")?\)/g),
    ...prose.matchAll(/^\[[^\]]+\]: (\S+)$/gm),
    ...prose.matchAll(/<(?:a|img|source)\b[^>]*?(?:href|src|srcset)="([^"]+)"/g)
  ].map(([, target = '']) => target);
  return targets.map((target) => {
    if (isAddress(target)) return { from, target };
    const [file = '', anchor] = target.split('#');
    const path =
      file === ''
        ? from
        : relative(packageRoot, resolve(packageRoot, dirname(from), file));
    return { from, target, path, ...(anchor === undefined ? {} : { anchor }) };
  });
}

function isAddress(target: string): boolean {
  return /^[a-z][a-z0-9+.-]*:/i.test(target);
}

/** Whether a link leads to a file of ours, and to a heading if it names one. */
export function leadsSomewhere({ path = '', anchor }: Link): boolean {
  const file = join(packageRoot, path);
  if (path.startsWith('..') || !existsSync(file)) return false;
  if (anchor === undefined) return true;
  return (
    statSync(file).isFile() &&
    anchorsOf(readFileSync(file, 'utf8')).includes(anchor)
  );
}

/** Anchors that GitHub makes from headings, and explicit ones. */
export function anchorsOf(text: string): string[] {
  const prose = text.replace(/^( *`{3,})[\s\S]*?^\1$/gm, '');
  const seen = new Map<string, number>();
  const ofHeadings = [...prose.matchAll(/^#+ (.+)$/gm)].map(
    ([, heading = '']) => {
      const anchor = heading
        .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
        .toLowerCase()
        .replace(/[^\p{L}\p{N}\s_-]/gu, '')
        .replaceAll(' ', '-');
      const times = seen.get(anchor) ?? 0;
      seen.set(anchor, times + 1);
      return times === 0 ? anchor : `${anchor}-${times}`;
    }
  );
  const own = [...prose.matchAll(/<a (?:id|name)="([^"]+)"/g)];
  return [...ofHeadings, ...own.map(([, id = '']) => id)];
}

const manifestSchema = z.object({ files: z.array(z.string()) });

/** Whether npm puts a file, or a directory, into the package. */
export function isPublished(path: string): boolean {
  const { files } = manifestSchema.parse(
    JSON.parse(readFileSync(join(packageRoot, 'package.json'), 'utf8'))
  );
  const always = ['package.json', 'README.md', 'LICENSE'];
  return [...always, ...files].some(
    (name) => path === name || path.startsWith(`${name.replace(/\/$/, '')}/`)
  );
}
