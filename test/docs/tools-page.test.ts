import { expect, test } from 'vitest';
import { hostErrorCodes } from '../../src/core/errors.ts';
import { documentAt } from '../kit/judges/documents.ts';

const page = documentAt('docs/guides/tools.md');

test('docs/guides/tools.md names every error that a tool may answer, and no other', () => {
  const general = /^Every tool may answer .*$/m.exec(page.text)?.[0] ?? '';
  const lines = page.text.match(/^Errors: .*$/gm) ?? [];
  const told = [general, ...lines].join(' ').match(/(?<=`)[a-z_]+(?=`)/g) ?? [];
  // A server that has no configuration has no tools, and no tool moves records.
  const others = ['config_invalid', 'record_refused'];
  const known = hostErrorCodes.filter((code) => !others.includes(code));
  expect([...new Set(told)].toSorted()).toEqual(known.toSorted());
});
