import { blocksOf, documentAt, sectionOf } from '../kit/judges/documents.ts';

/**
 * The example of docs/start/clients.md for a client.
 * @param args in place of the arguments that name a clone
 * @throws when the page's example has another form than expected
 */
export function documentedConfig(
  heading: string,
  language: 'json' | 'toml',
  args: string[]
): string {
  const text = sectionOf(documentAt('docs/start/clients.md'), `## ${heading}`);
  const [block, ...others] = blocksOf({ path: heading, text }, language);
  if (block === undefined || others.length > 0)
    throw new Error(`${heading} needs exactly one example.`);
  const clone = /\["\/absolute\/path\/to\/troupe\/dist\/troupe\.cjs", "mcp"\]/g;
  return replaced(block, clone, JSON.stringify(args));
}

/** A text with its only match replaced. */
export function replaced(text: string, place: RegExp, by: string): string {
  if ([...text.matchAll(place)].length !== 1)
    throw new Error(`Not exactly once in the example: ${place}\n${text}`);
  return text.replace(place, () => by);
}
