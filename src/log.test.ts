import { expect, test } from 'vitest';
import { problemTeller } from './log.ts';

function ofSystem(code: string, rest: string) {
  return Object.assign(new Error(`${code}: ${rest}`), { code });
}

test('a problem that stays is told once in ten minutes, whatever the file is called meanwhile', () => {
  const told: string[] = [];
  let now = 0;
  const tell = problemTeller(
    (message) => told.push(message),
    () => now
  );
  const denied = (end: string) =>
    ofSystem('EACCES', `permission denied, open '/w/logs/IAC.md.7.${end}.tmp'`);
  tell(denied('0123456789ab'));
  now += 599_999;
  tell(denied('ba9876543210'));
  expect(told).toEqual(["EACCES: permission denied, open '/w/logs/IAC.md'"]);
  tell(new Error('something else'));
  now += 1;
  tell(denied('abcdef012345'));
  expect(told).toHaveLength(3);
});

test.each(['ENOSPC', 'EROFS', 'EDQUOT'])(
  'a disk that takes nothing (%s) is one problem, in words',
  (code) => {
    const told: string[] = [];
    const tell = problemTeller((message) => told.push(message));
    tell(ofSystem(code, 'write'));
    tell(ofSystem(code, "unlink '/w/logs/CONTEXT.md.7.0123456789ab.tmp'"));
    expect(told).toHaveLength(1);
    expect(told[0]).toMatch(/disk .* may be out of date\. \w+/);
  }
);
