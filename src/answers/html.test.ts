import fc from 'fast-check';
import { expect, test } from 'vitest';
import { hostileText } from '../../test/kit/judges/hostile-text.ts';
import { html } from './html.ts';

test('values are escaped, markup is not, and what is absent is left out', () => {
  const inner = html`<b>${'<&>'}</b>`;
  expect(
    `${html`<p title="${'"x" \'y\' `z`'}">${[inner, 7, undefined, false]}</p>`}`
  ).toBe(
    '<p title="&#34;x&#34; &#39;y&#39; &#96;z&#96;"><b>&#60;&#38;&#62;</b>7</p>'
  );
});

test('no text adds a tag, ends an attribute or starts a reference', () => {
  fc.assert(
    fc.property(
      fc.oneof(hostileText, fc.string({ unit: 'binary' })),
      (text) => {
        const shown = `${html`${text}`}`;
        expect(shown).not.toMatch(/[<>"'`]/);
        expect(shown.replaceAll(/&#\d+;/g, '')).not.toContain('&');
        expect(Buffer.from(shown).toString()).toBe(shown);
      }
    )
  );
});

test('characters that turn or hide text are visible', () => {
  expect(`${html`${'a\u202eb\u001b[31m\0'}`}`).toBe('a\\u202eb␛[31m␀');
});
