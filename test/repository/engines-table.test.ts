import { expect, test } from 'vitest';
import { tableOf } from '../../scripts/engines-table.mjs';

function passed(ancestorTitles: string[], title = 'works') {
  return { ancestorTitles, title, status: 'passed' };
}

test('a row shows what was run with one program, and how it exited', () => {
  const results = [
    {
      name: '/x/codex.test.ts',
      assertionResults: [
        passed(['a turn'], 'one'),
        passed(['a turn'], 'two'),
        passed(['a session']),
        { ...passed(['a session']), status: 'failed' }
      ]
    },
    ...['claude', 'copilot', 'gemini-cli'].map((name) => ({
      name: `/x/${name}.test.ts`,
      assertionResults: [passed(['a turn'])]
    })),
    {
      name: '/x/worker-codex.test.ts',
      assertionResults: [passed(['codex as a worker'])]
    },
    {
      name: '/x/as-clients.test.ts',
      assertionResults: [
        passed(['codex as our client']),
        passed(['a long answer through copilot'])
      ]
    }
  ];
  const runs = [
    { engine: 'codex', status: 'failed', exit_code: 1 },
    { engine: 'codex', status: 'canceled', exit_code: 143 },
    { engine: 'codex', status: 'canceled', exit_code: null },
    { engine: 'codex', status: 'failed', exit_code: 1 },
    { engine: 'claude', status: 'failed', exit_code: 7 }
  ];
  const date = new Date('2026-02-03T04:05:06Z');
  const lines = tableOf(results, runs, date).split('\n');
  expect(lines).toHaveLength(6);
  expect(lines[3]).toMatch(
    /^\| `codex` \| \d+\.\d+\.\d+ \| 2026-02-03 \| 5: a turn 2, a session 1, as a worker 1, as a client 1 \| `canceled` 143, none; `failed` 1 \|$/
  );
});

test('there is no table of a run that left an engine out', () => {
  const assertionResults = [passed(['a turn'])];
  const results = [{ name: '/x/codex.test.ts', assertionResults }];
  expect(() => tableOf(results, [], new Date())).toThrow('No test of claude');
});
