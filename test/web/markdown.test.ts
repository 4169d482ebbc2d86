import fc from 'fast-check';
import { expect, test } from 'vitest';
import { blocksOf, Markdown } from '../../web/markdown.mjs';
import { hostileText } from '../kit/judges/hostile-text.ts';

interface Node {
  type: unknown;
  props: Record<string, unknown> | null;
}

/** The elements and texts of markdown; components are called. */
function partsOf(node: unknown): (Node | string)[] {
  if (typeof node === 'string') return [node];
  if (Array.isArray(node)) return node.flatMap(partsOf);
  if (typeof node !== 'object' || node === null) return [];
  const { type, props } = node as Node;
  if (typeof type === 'function') return partsOf(type(props));
  return [{ type, props }, ...partsOf(props?.children)];
}

function shown(text: string): (Node | string)[] {
  return partsOf(Markdown({ blocks: blocksOf(text) }));
}

function elementsOf(text: string): Node[] {
  return shown(text).filter((part) => typeof part !== 'string');
}

function wordsOf(text: string): string {
  return shown(text)
    .filter((part) => typeof part === 'string')
    .join('');
}

const safe = new Set(
  'div p h3 h4 h5 h6 ul ol li pre code blockquote table thead tbody tr th td hr strong em del br a span'.split(
    ' '
  )
);

const pieces = fc.constantFrom(
  '<script>x</script>',
  '<img src=x onerror=y>',
  '[a](javascript:x)',
  '[a](https://e.x)',
  '![i](https://e.x/p.png)',
  '# h',
  '\n\n',
  '\n',
  '- item',
  '1. item',
  '> quote',
  '```js\n',
  '`c`',
  '**b**',
  '| a | b |\n|---|---|\n| 1 | 2 |\n',
  '<a href="javascript:x">',
  '[r]: javascript:x',
  '[r]',
  '<svg onload=x>',
  'text ',
  '&lt;',
  '- [x] done',
  '<https://e.x>',
  '\\',
  '***',
  '~~d~~'
);

test('no text makes an element or an attribute that runs or loads something', () => {
  const markdown = fc.oneof(
    fc.array(pieces, { maxLength: 30 }).map((parts) => parts.join('')),
    hostileText
  );
  fc.assert(
    fc.property(markdown, (text) => {
      for (const { type, props } of elementsOf(text)) {
        expect(safe).toContain(type);
        for (const name of Object.keys(props ?? {})) {
          expect(name).not.toMatch(/^on|^src|^style|innerHTML/i);
          if (name === 'href')
            expect(String(props?.href)).toMatch(/^(https?:\/\/|mailto:)/i);
        }
      }
    }),
    { numRuns: 500 }
  );
});

test('HTML, images and scripts are shown as the text that they are', () => {
  const text =
    'a <script>alert(1)</script> b\n\n<img src=x onerror=y>\n\n![pic](https://e.x/p.png)';
  expect(wordsOf(text)).toContain('<script>alert(1)</script>');
  expect(wordsOf(text)).toContain('<img src=x onerror=y>');
  expect(wordsOf(text)).toContain('https://e.x/p.png');
});

test('levels of headings have no gaps', () => {
  const levels = elementsOf('# one\n\n#### four\n\n## two')
    .map(({ type }) => type)
    .filter((type) => /^h\d$/.test(String(type)));
  expect(levels).toEqual(['h3', 'h4', 'h4']);
});
