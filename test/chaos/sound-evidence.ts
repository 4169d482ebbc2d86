import type { AgentEvidence, Evidence, ServerEvidence } from './evidence.ts';

/** An agent that did what it was asked. */
export const agent: AgentEvidence = {
  id: '0badcafe',
  name: 'agent1-1',
  kind: 'slow',
  acknowledged: true,
  told: ['completed'],
  facts: ['start', 'finish'],
  status: 'completed',
  answer: 'did agent1-1',
  error: null,
  errorCode: null,
  outcome: 'completed',
  journal: ['completed'],
  logged: ['Done'],
  injuries: [],
  isCanceled: false,
  isOwnerGone: false,
  endsWithOwner: false,
  wasDiskFull: false,
  isJournalCut: false,
  isDoubted: false,
  othersFiles: [],
  outputBytes: 100
};

export const server: ServerEvidence = {
  name: 'server 1',
  impurities: [],
  stderr: 'troupe: The disk that holds it is full.\n',
  peakMegabytes: 90,
  isWatching: false
};

/** A run in which all went well. */
export const evidence: Evidence = {
  agents: [agent],
  requests: new Map([['one', ['0badcafe', '0badcafe']]]),
  council: {
    acknowledged: new Map([['r1', 'yes']]),
    kept: [
      ['r1', 'yes'],
      ['r2', 'nobody heard that this was taken']
    ]
  },
  workers: [],
  survivors: [],
  leftovers: [],
  verified: { code: 0, text: 'all well' },
  unread: [],
  context: [],
  running: [],
  servers: [server],
  seen: []
};
