import { endedAgents } from '../../golden/golden-agents.ts';
import { type GoldenCase, goldenCases } from '../../golden/golden-cases.ts';
import { goldenStages } from '../../golden/golden-stages.ts';

const stages = goldenStages();
const atWork = stages.shared({ running: true });
const empty = stages.shared({ agents: [] });
const ended = stages.shared();
/** Today none of them ended, whatever the time is. */
const old = stages.shared({ agents: endedAgents.slice(0, 2) });
/** Reading marks agents as read, and `clean` may remove them then. */
const unread = stages.shared();

/** Of what changes nothing. */
const look = (name: string, ...args: string[]): GoldenCase => ({
  name,
  args,
  stage: atWork
});

goldenCases('agents', [
  look('list', 'list'),
  look('list-limit', 'list', '--limit', '2'),
  { name: 'list-empty', args: ['list'], stage: empty },
  {
    name: 'list-workers',
    args: ['list'],
    stage: stages.shared({ agents: endedAgents.slice(0, 1), workers: true })
  },
  { name: 'watch', args: ['watch'], stage: old, terminal: false },
  { name: 'watch-empty', args: ['watch'], stage: empty, terminal: false },
  look('result-completed', 'result', 'a0000002'),
  look('result-wide', 'result', 'b0000003'),
  look('result-timeout', 'result', 'b0000004'),
  look('result-canceled', 'result', 'b0000005'),
  look('result-interrupted', 'result', 'b0000006'),
  look('result-failed', 'result', 'b0000007'),
  look('result-unknown', 'result', 'b0000001'),
  look('result-ambiguous', 'result', 'b000'),
  { name: 'wait-nothing', args: ['wait'], stage: ended },
  {
    name: 'wait-ended',
    args: ['wait', 'a0000001', 'b0000003', 'b0000007'],
    stage: ended
  },
  {
    name: 'cancel',
    args: ['cancel', 'b0000007', '--reason', 'wrong branch'],
    stage: ended
  },
  {
    name: 'run',
    args: ['run', 'rehearsal', 'say all good', '--access', 'read'],
    stage: () => stages.fresh({ agents: [] }),
    // Its activity is printed as often as there is time.
    steps: false
  },
  {
    name: 'run-failed',
    args: ['run', 'rehearsal', 'fail rate_limited try again later'],
    stage: () => stages.fresh({ agents: [] }),
    steps: false
  },
  {
    name: 'run-not-installed',
    args: ['run', 'claude', 'explain this'],
    stage: () => stages.fresh({ agents: [] })
  },
  { name: 'clean', args: ['clean'], stage: unread },
  {
    name: 'clean-dry-run',
    args: ['clean', '--older-than', '1d', '--dry-run'],
    stage: unread
  },
  {
    name: 'clean-named',
    args: ['clean', 'a0000001', 'a0000002', '--yes'],
    stage: () => stages.fresh()
  },
  {
    name: 'clean-unsaid',
    args: ['clean', 'a0000001'],
    stage: unread,
    terminal: false
  },
  look('log', 'log'),
  look('log-lines', 'log', '-n', '3'),
  { name: 'log-empty', args: ['log'], stage: empty },
  { name: 'log-verify', args: ['log', '--verify'], stage: ended },
  { name: 'log-head', args: ['log', '--head'], stage: ended }
]);
