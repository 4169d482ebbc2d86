import { expect, test } from 'vitest';
import type { AgentEvidence, Evidence, ServerEvidence } from './evidence.ts';
import { faultsOf } from './judge.ts';
import { agent, evidence, server } from './sound-evidence.ts';

/** An agent whose every record says the same. */
function ended(
  status: string,
  more: Partial<AgentEvidence> = {}
): Partial<Evidence> {
  const words = new Map([
    ['completed', 'Done'],
    ['failed', 'Failed'],
    ['canceled', 'Canceled'],
    ['timeout', 'Timed out'],
    ['interrupted', 'Interrupted']
  ]);
  return {
    agents: [
      {
        ...{ ...agent, status, outcome: status, journal: [status] },
        ...{ told: [status], logged: [words.get(status) ?? status] },
        facts: ['start'],
        ...more
      }
    ]
  };
}

function its(more: Partial<AgentEvidence>): Partial<Evidence> {
  return { agents: [{ ...agent, ...more }] };
}

function served(more: Partial<ServerEvidence>): Partial<Evidence> {
  return { servers: [{ ...server, ...more }] };
}

const lost = { status: undefined, facts: [], logged: [], journal: [] };

test.each<[string, Partial<Evidence>]>([
  ['that went well', {}],
  [
    'with a spawn that nobody was told of',
    its({ ...lost, acknowledged: false })
  ],
  [
    'with one that was killed',
    ended('interrupted', { injuries: ['kill agent'] })
  ],
  ['with one that crashes', ended('interrupted', { kind: 'crash' })],
  [
    'with one that was queued in a server that was killed',
    ended('interrupted', { facts: [], isOwnerGone: true })
  ],
  [
    'with one that was to end with its server',
    ended('interrupted', { isOwnerGone: true, endsWithOwner: true })
  ],
  ['with one that was canceled', ended('canceled', { isCanceled: true })],
  ['with one that takes too long', ended('timeout', { kind: 'overlong' })],
  ['with one that was paused', ended('timeout', { injuries: ['stop agent'] })],
  ['with one that fails', ended('failed', { kind: 'fails' })],
  ['with one whose disk was full', ended('failed', { wasDiskFull: true })],
  [
    'with an end that two servers told',
    its({ journal: ['completed', 'completed'] })
  ]
])('nothing is wrong with a run %s', (_what, more) => {
  expect(faultsOf({ ...evidence, ...more })).toEqual([]);
});

test.each<[string, Partial<Evidence>, string]>([
  ['a lost spawn', its(lost), 'is lost'],
  [
    'one that is still running',
    ended('running'),
    'is running when all is over'
  ],
  ['a false completed', its({ facts: ['start'] }), 'never finished'],
  ['a completed that cannot be', its({ kind: 'mute' }), 'which it cannot'],
  [
    'the answer of another',
    its({ answer: 'did agent1-2' }),
    'answers did agent1-2'
  ],
  ['half of the output', its({ kind: 'big' }), '100 bytes of output'],
  [
    'an agent that was started twice',
    its({ facts: ['start', 'start', 'finish'] }),
    'started 2 times'
  ],
  [
    'an end that was told otherwise',
    its({ told: ['failed', 'completed'] }),
    'was told to be failed'
  ],
  [
    'another outcome.json',
    its({ outcome: 'failed' }),
    'outcome.json has failed'
  ],
  [
    'no outcome.json',
    its({ outcome: undefined }),
    'outcome.json has undefined'
  ],
  ['no end in the journal', its({ journal: [] }), 'the journal has no end'],
  [
    'two ends in the journal',
    its({ journal: ['completed', 'failed'] }),
    'the journal has failed'
  ],
  ['no entry in IAC.md', its({ logged: [] }), 'stands 0 times'],
  [
    'two entries in IAC.md',
    its({ logged: ['Done', 'Done'] }),
    'stands 2 times'
  ],
  [
    'an entry that says Running',
    its({ logged: ['Running'] }),
    'IAC.md has Running'
  ],
  ['interrupted by nobody', ended('interrupted'), 'nothing explains it'],
  [
    'interrupted by the end of a watchdog',
    ended('interrupted', { injuries: ['kill watchdog'] }),
    'nothing explains it'
  ],
  [
    'queued in a server that lives, and interrupted',
    ended('interrupted', { facts: [] }),
    'nothing explains it'
  ],
  [
    'interrupted with its server, which it was to outlive',
    ended('interrupted', { isOwnerGone: true }),
    'nothing explains it'
  ],
  ['canceled by nobody', ended('canceled'), 'canceled by nobody'],
  ['out of time without a reason', ended('timeout'), 'without a reason'],
  [
    'out of time in the queue',
    ended('timeout', { facts: [] }),
    'before it began'
  ],
  ['failed without a reason', ended('failed'), 'failed without a reason'],
  [
    'two agents of one request',
    { requests: new Map([['one', ['a', 'b']]]) },
    'one made agents a,b'
  ],
  [
    'a lost response',
    { council: { acknowledged: new Map([['r1', 'yes']]), kept: [] } },
    'response r1 is lost'
  ],
  [
    'a changed response',
    {
      council: { acknowledged: new Map([['r1', 'yes']]), kept: [['r1', 'no']] }
    },
    'response r1 was changed'
  ],
  [
    'a response that is there twice',
    {
      council: {
        acknowledged: new Map(),
        kept: [
          ['r1', 'yes'],
          ['r2', 'yes']
        ]
      }
    },
    'yes is there twice'
  ],
  [
    'an answer of one who was summoned that is there twice',
    {
      council: {
        acknowledged: new Map(),
        kept: [
          ['r1', 'did agent1-1'],
          ['r2', 'did agent1-1']
        ]
      }
    },
    '2 times "did agent1-1" of 1 agents'
  ],
  ['a task without an end', { workers: ['a: one never ends'] }, 'never ends'],
  ['a survivor', { survivors: ['17 of /spawns/0badcafe'] }, 'survives: 17'],
  ['a mark that stays', { leftovers: ['open/0badcafe'] }, 'left over: open'],
  [
    'a broken chain',
    { verified: { code: 1, text: 'line 7' } },
    'the chains: line 7'
  ],
  [
    'a view that does not parse',
    { unread: ['IAC.md: line 3'] },
    'not to be read'
  ],
  ['an agent in CONTEXT.md', { context: ['| 0badcafe'] }, 'CONTEXT.md has'],
  ['an agent that list shows', { running: ['0badcafe'] }, 'said to be at work'],
  ['words on stdout', served({ impurities: ['hello'] }), 'put out hello'],
  [
    'a bug on stderr',
    served({ stderr: 'troupe: bug: oh\n' }),
    'has a troupe: bug'
  ],
  ['too much memory', served({ peakMegabytes: 150 }), 'took 150 MB'],
  [
    'trust in file events',
    served({ isWatching: true }),
    'leans on file events'
  ],
  ['what a client saw', { seen: ['a spawn: internal'] }, 'a spawn: internal']
])('%s is found', (_what, more, fault) => {
  const faults = faultsOf({ ...evidence, ...more });
  expect(faults).toHaveLength(1);
  expect(faults[0]).toContain(fault);
});
