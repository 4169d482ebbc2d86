import fc from 'fast-check';
import { expect, test } from 'vitest';
import { changedSettings } from './user-settings.ts';

function added(settings: string | undefined): unknown {
  const text = changedSettings(settings, (all) => ({ ...all, ours: true }));
  return JSON.parse(text);
}

test.each([[undefined], [''], [' \n'], ['{}'], ['// None yet\n{}']])(
  'settings that are %j get only our change',
  (settings) => {
    expect(added(settings)).toEqual({ ours: true });
  }
);

test('the user’s settings are kept, whatever the comments', () => {
  const settings = `\uFEFF{ // one
    /* two
    "ours": false, */
    "url": "https://example.com/*", "quote": "\\" // no comment",
    "ours": false
  }`;
  expect(added(settings)).toEqual({
    url: 'https://example.com/*',
    quote: '" // no comment',
    ours: true
  });
});

test('any settings are kept', () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (settings) => {
      const text = JSON.stringify(settings);
      expect(added(text)).toEqual({ ...JSON.parse(text), ours: true });
    })
  );
});

test.each(['{', '{"a": }', 'nonsense'])(
  'settings that cannot be parsed are unchanged: %s',
  (settings) => {
    expect(changedSettings(settings, () => ({}))).toBe(settings);
  }
);
