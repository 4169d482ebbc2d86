import { answerOf, behaviourOf } from './behaviours.ts';
import type { AgentEvidence, Evidence, ServerEvidence } from './evidence.ts';

/**
 * Of a server, whatever it has been through. Idle it has 60; four agents that
 * end at once with 24 MB of lines each take it to 120.
 */
const mostMegabytes = 140;

/**
 * Everything that is wrong in what a run has left; empty when nothing is. It
 * knows nothing of how the files are written.
 */
export function faultsOf(evidence: Evidence): string[] {
  const { verified, council } = evidence;
  return [
    ...evidence.agents.flatMap((agent) =>
      agentFaults(agent).map((fault) => `${aboutOf(agent)}: ${fault}`)
    ),
    ...requestFaults(evidence.requests),
    ...councilFaults(council),
    ...summonFaults(evidence),
    ...evidence.workers,
    ...evidence.survivors.map((one) => `survives: ${one}`),
    ...evidence.leftovers.map((one) => `left over: ${one}`),
    ...chainFaults(verified),
    ...evidence.unread.map((one) => `not to be read: ${one}`),
    ...evidence.context.map((one) => `CONTEXT.md has ${one}`),
    ...evidence.running.map((one) => `said to be at work: ${one}`),
    ...evidence.servers.flatMap(serverFaults),
    ...evidence.seen
  ];
}

function aboutOf({ id, name, kind, injuries }: AgentEvidence): string {
  const harm = injuries.length > 0 ? ` after ${injuries.join(', ')}` : '';
  return `${id} (${name}, ${kind}${harm})`;
}

const words = new Map([
  ['completed', 'Done'],
  ['failed', 'Failed'],
  ['canceled', 'Canceled'],
  ['timeout', 'Timed out'],
  ['interrupted', 'Interrupted']
]);

function agentFaults(agent: AgentEvidence): string[] {
  const { status, told, outcome, journal, logged, facts } = agent;
  if (agent.injuries.includes('removed folder')) return lostFaults(agent);
  if (status === undefined)
    return agent.acknowledged ? ['was acknowledged and is lost'] : [];
  if (agent.isDoubted && status === 'running') return [];
  const word = words.get(status);
  if (word === undefined) return [`is ${status} when all is over`];
  const faults: string[] = [];
  const starts = facts.filter((fact) => fact === 'start').length;
  if (starts > 1) faults.push(`was started ${starts} times`);
  for (const other of new Set(told))
    if (other !== status) faults.push(`was told to be ${other}, is ${status}`);
  if (outcome !== status) faults.push(`outcome.json has ${outcome}`);
  if (journal.length === 0 && !agent.isJournalCut)
    faults.push('the journal has no end of it');
  if (journal.length > 1)
    faults.push(`the journal has ${journal.length} ends of it`);
  for (const end of journal)
    if (end !== status) faults.push(`the journal has ${end}, not ${status}`);
  if (logged.length !== 1 && !(agent.isJournalCut && logged.length === 0))
    faults.push(`stands ${logged.length} times in IAC.md and its archives`);
  for (const other of logged)
    if (other !== word) faults.push(`IAC.md has ${other}, not ${word}`);
  for (const file of agent.othersFiles) faults.push(`claims ${file}`);
  return [...faults, ...untruths(agent, status)];
}

/** An agent with a removed folder: it ended without doing its work. */
function lostFaults(agent: AgentEvidence): string[] {
  const { status, told, journal, logged } = agent;
  const isOpen = status === 'running' || status === 'queued';
  const all = [status, ...told, ...journal];
  return [
    ...(isOpen ? [`is ${status} without its folder`] : []),
    ...(all.includes('completed') ? ['completed without its folder'] : []),
    ...(logged.includes('Running') ? ['IAC.md has Running for a lost one'] : [])
  ];
}

const deadly = ['kill agent', 'kill supervisor', 'container restart'];

/** Where the status is not what happened, or nothing explains it. */
function untruths(agent: AgentEvidence, status: string): string[] {
  const { kind, facts, injuries, wasDiskFull } = agent;
  const { ends, bytes } = behaviourOf(kind);
  const isStarted = facts.includes('start');
  const isHurt = injuries.some((injury) => deadly.includes(injury));
  const isPaused = injuries.some((injury) => injury.startsWith('stop'));
  const isExplained = status === ends || wasDiskFull;
  switch (status) {
    case 'completed':
      return [
        ...(facts.includes('finish') ? [] : ['completed, and never finished']),
        ...(ends === 'completed' ? [] : ['completed, which it cannot']),
        ...answerFaults(agent),
        ...(injuries.includes('wiped worktree')
          ? ['completed, though its worktree was deleted under it']
          : []),
        ...(agent.outputBytes >= (bytes ?? 0) || wasDiskFull
          ? []
          : [`has ${agent.outputBytes} bytes of output`])
      ];
    case 'interrupted':
      if (!isStarted && (agent.isOwnerGone || isHurt || wasDiskFull)) return [];
      if (isStarted && (isExplained || isHurt)) return [];
      if (isWiped(agent)) return wipeFaults(agent);
      if (agent.isOwnerGone && agent.endsWithOwner) return [];
      return ['interrupted, and nothing explains it'];
    case 'canceled':
      return agent.isCanceled ? [] : ['canceled by nobody'];
    case 'timeout':
      if (!isStarted) return ['out of time before it began'];
      return isExplained || isPaused ? [] : ['out of time without a reason'];
    case 'failed':
      // Continued while it was still at work.
      if (agent.errorCode === 'session_busy' && !isStarted) return [];
      if (isWiped(agent)) return wipeFaults(agent);
      if (injuries.includes('removed stdout')) return [];
      return isExplained ? [] : [`failed without a reason: ${agent.error}`];
    default:
      return [];
  }
}

/** A plain one's answer is all that it has printed. */
function answerFaults({ kind, name, answer }: AgentEvidence): string[] {
  const whole = answerOf(kind, name);
  const isWhole =
    whole === undefined ? answer.includes(`did ${name}`) : answer === whole;
  return isWhole ? [] : [`answers ${answer}`];
}

function isWiped({ injuries }: AgentEvidence): boolean {
  return injuries.some((injury) => injury.endsWith('wiped worktree'));
}

/** Its worktree was deleted under it, which its error says. */
function wipeFaults({ error, injuries }: AgentEvidence): string[] {
  const isSure = injuries.includes('wiped worktree');
  return !isSure || error?.includes('worktree')
    ? []
    : [`says of its deleted worktree only: ${error}`];
}

function chainFaults({ code, text, isCut }: Evidence['verified']): string[] {
  if (code === 0) return [];
  const [, ...problems] = text.trim().split('\n');
  const isMissing = problems.every((line) => / missing\b/.test(line));
  return isCut && isMissing && problems.length > 0
    ? []
    : [`the chains: ${text}`];
}

function requestFaults(requests: Map<string, string[]>): string[] {
  return [...requests].flatMap(([request, ids]) => {
    const all = [...new Set(ids)];
    return all.length > 1 ? [`${request} made agents ${all}`] : [];
  });
}

function councilFaults({ acknowledged, kept }: Evidence['council']): string[] {
  const faults: string[] = [];
  for (const [id, content] of acknowledged) {
    const found = kept.filter(([other]) => other === id);
    if (found.length === 0) faults.push(`response ${id} is lost`);
    if (found.some(([, text]) => text !== content))
      faults.push(`response ${id} was changed`);
  }
  const ids = kept.map(([id]) => id);
  const twice = ids.filter((id, index) => ids.indexOf(id) !== index);
  // Several agents may be summoned to one request, and answer it alike.
  const contents = kept
    .map(([, content]) => content)
    .filter((content) => !content.startsWith('did '));
  const again = contents.filter(
    (content, index) => contents.indexOf(content) !== index
  );
  return [
    ...faults,
    ...twice.map((id) => `response ${id} is there twice`),
    ...(twice.length > 0 ? [] : again.map((text) => `${text} is there twice`))
  ];
}

/** What an agent that was summoned answers is recorded once. */
function summonFaults({ agents, council }: Evidence): string[] {
  const answers = council.kept
    .map(([, content]) => content)
    .filter((content) => content.startsWith('did '));
  return [...new Set(answers)].flatMap((answer) => {
    const given = agents.filter(
      ({ status, name }) => status === 'completed' && answer === `did ${name}`
    );
    const times = answers.filter((other) => other === answer).length;
    return times > given.length
      ? [`${times} times "${answer}" of ${given.length} agents`]
      : [];
  });
}

function serverFaults(server: ServerEvidence): string[] {
  const { name, impurities, stderr, peakMegabytes, isWatching } = server;
  const bugs = stderr.split('\n').filter((line) => line.includes('bug:'));
  return [
    ...impurities.map((line) => `${name} put out ${line.slice(0, 200)}`),
    ...bugs.map((line) => `${name} has a ${line}`),
    ...(isWatching ? [`${name} leans on file events, which get lost`] : []),
    ...(peakMegabytes < mostMegabytes
      ? []
      : [`${name} took ${peakMegabytes.toFixed(0)} MB`])
  ];
}
