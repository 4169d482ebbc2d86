import {
  type BroadcastEvent,
  type Command,
  isBroadcast,
  parseBroadcast,
  parseCommand,
  parseEvent,
  terminalTypes,
  type WorkerEvent
} from '../../../src/core/orchestrator/queue/records.ts';

/** What a worker has left on disk, and what its master was promised. */
export interface Evidence {
  agentId: string;
  inbox: string;
  outbox: string;
  broadcast: string;
  /** Ids of tasks whose enqueueing was acknowledged, in that order. */
  acknowledged: string[];
}

/**
 * All that is wrong with the logs of a worker that has been deleted; empty
 * when nothing is. It knows nothing of how they are written.
 */
export function faultsOf(evidence: Evidence): string[] {
  const { agentId, acknowledged } = evidence;
  const faults: string[] = [];
  const lines = <Line>(name: string, text: string, parse: Parse<Line>) =>
    linesOf(name, text, parse, faults);
  const commands = lines('inbox', evidence.inbox, parseCommand);
  const events = lines('outbox', evidence.outbox, parseEvent);
  const told = lines('broadcast', evidence.broadcast, parseBroadcast);
  return [
    ...faults,
    ...numberFaults('inbox', commands),
    ...numberFaults('outbox', events),
    ...promiseFaults(tasksOf(commands), acknowledged),
    ...endFaults(tasksOf(commands), events),
    ...orderFaults(tasksOf(commands), events),
    ...lifeFaults(events),
    ...broadcastFaults(agentId, events, told)
  ];
}

type Parse<Line> = (value: unknown) => Line | undefined;

function linesOf<Line>(
  name: string,
  text: string,
  parse: Parse<Line>,
  faults: string[]
): Line[] {
  if (text !== '' && !text.endsWith('\n')) faults.push(`${name} ends amid one`);
  const lines = text.split('\n').slice(0, -1);
  return lines.flatMap((line, index) => {
    const parsed = parsedLine(line, parse);
    if (parsed) return [parsed];
    faults.push(`${name}, line ${index + 1} is none of ours: ${line}`);
    return [];
  });
}

function parsedLine<Line>(line: string, parse: Parse<Line>): Line | undefined {
  try {
    return parse(JSON.parse(line));
  } catch {
    return undefined;
  }
}

function numberFaults(name: string, lines: { seq: number }[]): string[] {
  const wrong = lines.find(({ seq }, index) => seq !== index + 1);
  return wrong ? [`${name} has number ${wrong.seq} out of its place`] : [];
}

function tasksOf(commands: Command[]): string[] {
  return commands.flatMap(({ type, task_id }) =>
    type === 'task' ? [task_id ?? '(none)'] : []
  );
}

/** What was acknowledged stands there once, in that order. */
function promiseFaults(tasks: string[], acknowledged: string[]): string[] {
  const lost = acknowledged.filter((id) => !tasks.includes(id));
  const twice = tasks.filter((id, index) => tasks.indexOf(id) !== index);
  const found = tasks.filter((id) => acknowledged.includes(id));
  const kept = acknowledged.filter((id) => !lost.includes(id));
  const isOrdered = twice.length > 0 || `${found}` === `${kept}`;
  return [
    ...lost.map((id) => `${id} was acknowledged and is lost`),
    ...twice.map((id) => `${id} stands in the inbox twice`),
    ...(isOrdered ? [] : ['the inbox has another order than the answers'])
  ];
}

/** Each task has one end, and nothing happens to it afterwards. */
function endFaults(tasks: string[], events: WorkerEvent[]): string[] {
  const faults: string[] = [];
  const ended = new Set<string>();
  for (const { type, task_id: id, done, seq } of events) {
    const isEnd = terminalTypes.includes(type);
    if (isEnd !== (done === true)) faults.push(`${seq}: ${type} tells no end`);
    if (id === undefined) continue;
    if (!tasks.includes(id)) faults.push(`${seq}: nobody gave task ${id}`);
    const isAfter = ended.has(id);
    if (isAfter && isEnd) faults.push(`${seq}: ${id} ends a second time`);
    else if (isAfter) faults.push(`${seq}: ${id} has ${type} after its end`);
    if (isEnd) ended.add(id);
  }
  const open = tasks.filter((id) => !ended.has(id));
  return [...faults, ...open.map((id) => `${id} never ends`)];
}

/** One task at a time, in the order of their coming, and again from its front. */
function orderFaults(tasks: string[], events: WorkerEvent[]): string[] {
  const faults: string[] = [];
  const given: string[] = [];
  let running: string | undefined;
  let next: string | undefined;
  for (const { type, task_id: id, done, seq } of events) {
    if (id === undefined) continue;
    if (done && id === next) next = undefined;
    if (done && id === running) running = undefined;
    if (type === 'requeued') {
      if (running !== id) faults.push(`${seq}: ${id} did not run`);
      running = undefined;
      next = id;
    }
    if (type !== 'delivered') continue;
    if (running !== undefined) faults.push(`${seq}: ${running} still runs`);
    if (next !== undefined && next !== id)
      faults.push(`${seq}: ${next} was to come before ${id}`);
    if (!given.includes(id)) given.push(id);
    next = undefined;
    running = id;
  }
  const inOrder = tasks.filter((id) => given.includes(id));
  if (`${inOrder}` !== `${given}`)
    faults.push(`given as ${given}, not as ${inOrder}`);
  return faults;
}

/** Ready once at most, each start after a crash, and an end that is the end. */
function lifeFaults(events: WorkerEvent[]): string[] {
  const faults: string[] = [];
  const types = events.map(({ type }) => type);
  const count = (type: string) => types.filter((one) => one === type).length;
  if (count('ready') > 1) faults.push('ready more than once');
  if (count('stopped') > 1) faults.push('stopped more than once');
  if (count('restarted') > count('crashed'))
    faults.push('restarted without a crash');
  if (types.at(-1) !== 'stopped') faults.push(`the end is ${types.at(-1)}`);
  return faults;
}

/** Reports every event of this worker once, in order. */
function broadcastFaults(
  agentId: string,
  events: WorkerEvent[],
  told: BroadcastEvent[]
): string[] {
  const wanted = events.filter(isBroadcast).map((event) => stringOf(event));
  const found = told
    .filter(({ agent_id }) => agent_id === agentId)
    .map(({ agent_id, ...event }) => stringOf(event));
  const missing = wanted.filter((line) => !found.includes(line));
  const twice = found.filter((line, index) => found.indexOf(line) !== index);
  const other = found.filter((line) => !wanted.includes(line));
  const named = [
    ...missing.map((line) => `broadcast lacks ${line}`),
    ...twice.map((line) => `broadcast has twice ${line}`),
    ...other.map((line) => `broadcast has what nobody told: ${line}`)
  ];
  const isOrdered = named.length > 0 || `${wanted}` === `${found}`;
  return isOrdered ? named : ['broadcast has another order than the outbox'];
}

function stringOf(event: WorkerEvent): string {
  return JSON.stringify(
    Object.fromEntries(
      Object.entries(event).toSorted(([a], [b]) => (a < b ? -1 : 1))
    )
  );
}
