import { describe, expect, test } from 'vitest';
import { recordWith } from '../../../../test/kit/servers/run-facts.ts';
import type { Access } from '../../../plugin/plugin.ts';
import { HostError } from '../../errors.ts';
import type { RunRecord } from '../../runs/run.ts';
import type { Ask, AskAnswer } from '../ask.ts';
import { type Answerer, checkAuthority } from './authority.ts';

/** Each agent is the parent of the next one; the last one asks. */
const [top, middle, asker, other] = [
  '0000000a',
  '0000000b',
  '0000000c',
  '0000000d'
];
const agents: Record<string, RunRecord> = Object.fromEntries(
  [
    recordWith({ agent_id: top, access: 'full' }),
    recordWith({ agent_id: middle, parent: top, access: 'write' }),
    recordWith({ agent_id: asker, parent: middle, ask: 'coordinator' }),
    recordWith({ agent_id: other, parent: top, access: 'full' })
  ].map((record) => [record.agent_id, record])
);

interface Case {
  /** The agent that answers; null for a person or a client. */
  from?: string | null;
  depth?: number;
  answerer?: Answerer;
  decision?: AskAnswer['decision'];
  needs?: Ask['needs'];
  maxAccess?: Access;
  ask?: RunRecord['ask'];
  /** The parent of the topmost agent. */
  above?: string | null;
}

/** The name in the answer, or the code of the refusal and its reason. */
function answerOf({
  from = null,
  depth = from === null ? 0 : 1,
  answerer = { client: 'codex' },
  decision = 'allow',
  needs = 'write',
  maxAccess = 'full',
  ask = 'coordinator',
  above = null
}: Case): Pick<AskAnswer, 'by' | 'who'> | string {
  const asked: Ask = {
    ...{ v: 1, ask_id: `${asker}-1`, agent_id: asker },
    ...{ kind: 'permission', tool: 'Bash', subject: {}, needs },
    asked_at: '2026-01-01T00:00:00.000Z',
    expires_at: '2026-01-01T00:10:00.000Z',
    bridge: { pid: 1, start: '', place: 'here' }
  };
  const record = recordWith({ ...agents[asker], ask });
  const recordOf = (id: string) =>
    id === top ? recordWith({ ...agents[top], parent: above }) : agents[id];
  try {
    return checkAuthority(asked, record, decision, answerer, {
      store: { recordOf },
      origin: { parent: from, depth },
      maxAccess
    });
  } catch (error) {
    if (error instanceof HostError && error.code === 'not_yours')
      return error.message;
    throw error;
  }
}

describe('a person', () => {
  test('answers every ask on the command line, whatever it needs', () => {
    const answerer = 'command line';
    const needs = 'full';
    for (const ask of ['person', 'coordinator'] as const)
      expect(answerOf({ answerer, needs, maxAccess: 'read', ask })).toEqual({
        by: 'person'
      });
  });

  test.each<[string, Answerer]>([
    ['from the page', 'page'],
    ['form of codex', { form: 'codex' }],
    ['form of the client', { form: '' }]
  ])('is named %s', (who, answerer) => {
    expect(answerOf({ answerer, ask: 'person' })).toEqual({
      by: 'person',
      who
    });
  });

  test.each<Answerer>(['page', { form: 'codex' }])(
    'allows no more than the configuration: %j',
    (answerer) => {
      const limited = { answerer, maxAccess: 'read' } as const;
      expect(answerOf(limited)).toContain('the configuration allows read');
      expect(answerOf({ ...limited, decision: 'deny' })).toMatchObject({
        by: 'person'
      });
    }
  );
});

describe('a client', () => {
  test('answers an ask for the coordinator under its name', () => {
    expect(answerOf({ needs: 'full' })).toEqual({
      by: 'coordinator',
      who: 'codex'
    });
    expect(answerOf({ answerer: { client: '' } })).toEqual({
      by: 'coordinator'
    });
  });

  test('answers no ask for a person', () => {
    for (const decision of ['allow', 'deny', null] as const)
      expect(answerOf({ ask: 'person', decision })).toContain('for a person');
  });

  test('allows no more than the configuration', () => {
    expect(answerOf({ maxAccess: 'read' })).toContain('you have read');
  });
});

describe('an agent', () => {
  test.each([top, middle])('above the asker answers for itself: %s', (from) => {
    expect(answerOf({ from })).toEqual({
      by: 'coordinator',
      who: `agent ${from}`
    });
  });

  test.each([
    ['the asker itself', asker],
    ['an agent next to it', other],
    ['an agent without a record', '0000000e']
  ])(
    'that is not above the asker may neither allow nor deny: %s',
    (_, from) => {
      for (const decision of ['allow', 'deny', null] as const)
        expect(answerOf({ from, decision, needs: 'write' })).toContain(
          'only for the agents above'
        );
    }
  );

  test('that no record names is no person, because of its depth', () => {
    for (const answerer of ['command line', 'page', { client: 'x' }] as const)
      expect(answerOf({ depth: 1, answerer })).toContain(
        'only for the agents above'
      );
  });

  test.each<Answerer>([
    'command line',
    'page',
    { form: 'codex' },
    { client: 'codex' }
  ])('is no person, whatever door it uses: %j', (answerer) => {
    expect(answerOf({ from: middle, answerer, ask: 'person' })).toContain(
      'for a person'
    );
    expect(answerOf({ from: asker, answerer })).toContain(
      'only for the agents above'
    );
    expect(answerOf({ from: middle, answerer })).toEqual({
      by: 'coordinator',
      who: `agent ${middle}`
    });
  });

  test('allows no more than it may do itself, and denies all', () => {
    expect(answerOf({ from: middle, needs: 'full' })).toContain(
      'you have write: you may only deny it'
    );
    expect(
      answerOf({ from: middle, needs: 'full', decision: 'deny' })
    ).toMatchObject({ by: 'coordinator' });
    expect(answerOf({ from: top, needs: 'full' })).toMatchObject({
      by: 'coordinator'
    });
  });

  test('with full access allows no more than the configuration', () => {
    const limited = { from: top, needs: 'full', maxAccess: 'write' } as const;
    expect(answerOf(limited)).toContain('you have write');
  });
});

test('a worker above the asker, which has no record, can only deny', () => {
  const above = '0000000f';
  expect(answerOf({ from: above, above })).toContain('you have read');
  expect(answerOf({ from: above, above, decision: 'deny' })).toEqual({
    by: 'coordinator',
    who: `agent ${above}`
  });
});

test('agents that are recorded as parents of each other end the search', () => {
  expect(answerOf({ from: other, above: middle })).toContain(
    'only for the agents above'
  );
});
