import assert from 'node:assert/strict';
import type { Verdict } from '../../src/core/runs/end/classify-outcome.ts';
import type { Engine, Reply } from '../../src/plugin/plugin.ts';
import type { ApiFixture, Check, CliFixture, Expected } from './check.ts';
import { replyOf, verdictOf } from './output.ts';
import { verdictOf as apiVerdictOf } from './provider.ts';

/** Each recording, judged as the host would judge it. */
export function recordedChecks(
  engine: Engine,
  all: (CliFixture | ApiFixture)[]
): Check[] {
  return all.map((fixture) => ({
    title: `reads its recording "${fixture.case}"`,
    run: async () => {
      const { verdict, reply } = await judged(engine, fixture);
      assert.doesNotMatch(verdict.error ?? '', /is at fault: /);
      if (fixture.expected) compare(fixture.expected, verdict, reply);
    }
  }));
}

async function judged(
  engine: Engine,
  fixture: CliFixture | ApiFixture
): Promise<{ verdict: Verdict; reply: Reply }> {
  if ('response' in fixture) {
    assert.equal(engine.kind, 'api', 'a program has no "response"');
    return engine.kind === 'api'
      ? apiVerdictOf(engine, fixture)
      : assert.fail();
  }
  assert.equal(engine.kind, 'cli', 'an API has no "stdout"');
  const reply = replyOf(engine, fixture);
  return { verdict: verdictOf(engine, fixture), reply };
}

function compare(expected: Expected, verdict: Verdict, reply: Reply): void {
  const found: Expected = {
    status: verdict.status,
    text: reply.text,
    ...(verdict.error_code && { error_code: verdict.error_code }),
    ...(reply.sessionId === undefined ? {} : { sessionId: reply.sessionId })
  };
  const asked = Object.keys(expected);
  const relevant = Object.fromEntries(
    Object.entries(found).filter(([name]) => asked.includes(name))
  );
  assert.deepEqual(relevant, expected, verdict.error ?? undefined);
}
