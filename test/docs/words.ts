import type { MarkdownDocument } from '../kit/judges/documents.ts';

/** Words that a native writer of technical English does not use here. */
const markers = [
  'amid',
  'anew',
  'befall',
  'befallen',
  'befalls',
  'befell',
  'hitherto',
  'likewise',
  'mend',
  'mended',
  'mends',
  'midst',
  'nobody',
  'nonetheless',
  'shall',
  'somebody',
  'tell',
  'telling',
  'tells',
  'thereof',
  'thereupon',
  'told',
  'unasked',
  'unless told',
  'wherefrom',
  'whoever',
  'whosoever'
];

const marker = new RegExp(`\\b(?:${markers.join('|')})\\b`, 'gi');

/** What a reader reads: code, links and markup of tables aside. */
export function proseOf({ text }: Pick<MarkdownDocument, 'text'>): string {
  return text
    .replace(/^( *`{3,})[\s\S]*?^\1$/gm, '')
    .replace(/`[^`\n]+`/g, '')
    .replace(/\]\([^)\s]+\)/g, ']');
}

export function markersIn(prose: string): string[] {
  return [...prose.matchAll(marker)].map(([word]) => word.toLowerCase());
}

/** Bars of tables, bullets and fences are no words. */
export function wordCount(text: string): number {
  return text.split(/\s+/).filter((word) => /[\p{L}\p{N}]/u.test(word)).length;
}
