import { expect, test } from 'vitest';
import { richText } from './rich-text.ts';

const words = (text: string) => `<div class="words">${text}</div>`;

test.each([
  ['one\ntwo', words('one\ntwo')],
  ['\n\none\n\ntwo\n\n', words('one\n\ntwo')],
  ['', ''],
  [' \n', ''],
  ['a `b` **c** *d*', words('a <code>b</code> <b>c</b> *d*')],
  ['`a** **b`', words('<code>a** **b</code>')],
  ['# Head\n\ntext', words('<strong class="head">Head</strong>text')],
  ['text\n\n## Head ##', words('text\n\n<strong class="head">Head</strong>')],
  ['#no\n####### no', words('#no\n####### no')],
  ['a\n```js\nx\n```\nb', `${words('a')}<pre>x</pre>${words('b')}`],
  ['```\na\n~~~\nb\n```', '<pre>a\n~~~\nb</pre>'],
  ['````\n```\n````', '<pre>```</pre>'],
  ['```\na\n```` ', '<pre>a</pre>'],
  ['```\na\n``` x', '<pre>a\n``` x</pre>'],
  ['   ~~~\na\n   ~~~', '<pre>a</pre>'],
  ['    ```\na', words('    ```\na').replaceAll('`', '&#96;')],
  ['```\nopen', '<pre>open</pre>'],
  ['<b>', words('&#60;b&#62;')]
])('%j is shown as %s', (text, shown) => {
  expect(richText(text).join('').replaceAll('&#96;', '`')).toBe(
    shown.replaceAll('&#96;', '`')
  );
});
