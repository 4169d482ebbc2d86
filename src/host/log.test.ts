import { expect, onTestFinished, test, vi } from 'vitest';
import { problemLogger } from './log.ts';

function ofSystem(code: string, rest: string) {
  return Object.assign(new Error(`${code}: ${rest}`), { code });
}

test('a lasting problem is logged once in ten minutes, whatever the name of its temporary file', () => {
  const logged: string[] = [];
  let now = 0;
  const report = problemLogger(
    (message) => logged.push(message),
    () => now
  );
  const denied = (end: string) =>
    ofSystem('EACCES', `permission denied, open '/w/logs/IAC.md.7.${end}.tmp'`);
  report(denied('0123456789ab'));
  now += 599_999;
  report(denied('ba9876543210'));
  expect(logged).toEqual(["EACCES: permission denied, open '/w/logs/IAC.md'"]);
  report(new Error('something else'));
  now += 1;
  report(denied('abcdef012345'));
  expect(logged).toHaveLength(3);
});

test.each(['ENOSPC', 'EROFS', 'EDQUOT'])(
  'a disk that cannot be written (%s) is logged as one problem, in plain words',
  (code) => {
    const logged: string[] = [];
    const report = problemLogger((message) => logged.push(message));
    report(ofSystem(code, 'write'));
    report(ofSystem(code, "unlink '/w/logs/CONTEXT.md.7.0123456789ab.tmp'"));
    expect(logged).toHaveLength(1);
    expect(logged[0]).toMatch(/disk .* may be out of date\. \w+/);
  }
);

test('diagnostics go to stderr until they are silenced', async () => {
  // Silence lasts as long as the module.
  vi.resetModules();
  onTestFinished(() => {
    vi.resetModules();
    vi.restoreAllMocks();
  });
  const { log, silenceLog } = await import('./log.ts');
  const printed: string[] = [];
  vi.spyOn(process.stderr, 'write').mockImplementation((text) => {
    printed.push(String(text));
    return true;
  });
  log('one');
  silenceLog();
  log('two');
  expect(printed).toEqual(['troupe: one\n']);
});
