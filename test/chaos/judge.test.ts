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

const reopened = ['first', 'second', 'third']
  .map((word) => `${word} of agent1-1\n`)
  .join('')
  .concat('did agent1-1');
const wiped = { kind: 'isolated', injuries: ['wiped worktree'] };
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
    'with one whose container ended',
    ended('interrupted', { injuries: ['container restart'] })
  ],
  [
    'with one whose container ended a moment ago',
    ended('running', { isDoubted: true })
  ],
  [
    'with one whose end was in a journal that was removed',
    its({ journal: [], logged: [], isJournalCut: true })
  ],
  [
    'whose journal misses what somebody removed',
    {
      verified: {
        ...{ code: 1, isCut: true },
        text: 'iac.jsonl: records 7\nFirst broken line: 2: record 0 is missing\n'
      }
    }
  ],
  [
    'with a plain one that gives all that it printed',
    its({ kind: 'reopener', answer: reopened })
  ],
  [
    'with one whose worktree was deleted under it',
    ended('failed', { ...wiped, error: 'Its worktree was deleted.' })
  ],
  [
    'with one whose output was removed',
    ended('failed', { kind: 'patient', injuries: ['removed stdout'] })
  ],
  [
    'with one whose folder was removed',
    its({ ...lost, told: [], injuries: ['removed folder'] })
  ]
])('nothing is wrong with a run %s', (_what, more) => {
  expect(faultsOf({ ...evidence, ...more })).toEqual([]);
});

test.each<[string, Partial<Evidence>, string]>([
  ['a lost spawn', its(lost), 'is lost'],
  [
    'two ends in the journal',
    its({ journal: ['completed', 'completed'] }),
    'the journal has 2 ends of it'
  ],
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
  [
    'an answer of which the beginning is gone',
    its({ kind: 'reopener', answer: reopened.slice(20) }),
    'answers cond of agent1-1'
  ],
  [
    'an answer of which the middle is gone',
    its({ kind: 'lines', answer: 'line 1 of agent1-1\ndid agent1-1' }),
    'answers line 1'
  ],
  [
    'a completed one whose worktree was deleted under it',
    its({ ...wiped }),
    'completed, though its worktree'
  ],
  [
    'a deleted worktree that the error does not name',
    ended('failed', { ...wiped, error: 'It went wrong.' }),
    'says of its deleted worktree only: It went wrong.'
  ],
  [
    'one that is running without its folder',
    its({
      ...{ ...lost, told: [], status: 'running' },
      injuries: ['removed folder']
    }),
    'is running without its folder'
  ],
  [
    'one that was told to be completed without its folder',
    its({ ...lost, injuries: ['removed folder'] }),
    'completed without its folder'
  ],
  [
    'one without folder that IAC.md has at work',
    its({
      ...{ ...lost, told: [], logged: ['Running'] },
      injuries: ['removed folder']
    }),
    'IAC.md has Running'
  ],
  [
    'another end in what is left of the journal',
    its({ journal: ['failed'], isJournalCut: true }),
    'the journal has failed'
  ],
  [
    'a wrong end of one whose container ended a moment ago',
    its({ kind: 'fails', isDoubted: true }),
    'completed, which it cannot'
  ],
  [
    'a file of another in what one has changed',
    its({ othersFiles: ['made-by-agent2-1.txt'] }),
    'claims made-by-agent2-1.txt'
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
    'another end in the journal',
    its({ journal: ['failed'] }),
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
    'a broken chain in a journal that was removed',
    {
      verified: {
        ...{ code: 1, isCut: true },
        text: 'iac.jsonl: records 7\nFirst broken line: 2: it was changed\n'
      }
    },
    'it was changed'
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
