import { expect } from 'vitest';
import {
  fencedIn,
  type MarkdownDocument,
  sectionOf
} from '../kit/judges/documents.ts';

/** The message that a page shows under a heading of the third level. */
export function shownOf(page: MarkdownDocument, heading: string): string {
  const blocks = fencedIn(sectionOf(page, `### ${heading}`));
  const message = blocks.find(({ language }) => language === 'text')?.body;
  if (message === undefined) throw new Error(`No message under "${heading}".`);
  return message.trim();
}

/** Whether something says what a page shows; `…` stands for anything. */
export function expectShown(shown: string, said: string): void {
  const pattern = shown
    .replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')
    .replaceAll('…', '[^\\n]*')
    .replaceAll('\n', '\\n');
  expect(said).toMatch(new RegExp(`^${pattern}`, 'm'));
}
