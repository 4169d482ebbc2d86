import type { EndStatus } from '../../src/core/runs/run.ts';
import type { Random } from '../kit/judges/random.ts';

/** How an agent behaves, and how it may end when nothing disturbs it. */
export interface Behaviour {
  kind: string;
  /**
   * The idler is stopped after two seconds of silence; of the plain one all
   * that it prints is its answer.
   */
  engine: 'chaos' | 'idler' | 'plain';
  ends: EndStatus;
  /** Among all behaviours. */
  weight: number;
  /** Seconds. Well above what it needs, where it is to end by itself. */
  timeout: number;
  /** Bytes that it puts out besides its events. */
  bytes?: number;
  /** It has a worktree of its own. */
  isolate?: true;
}

export const bigBytes = 12_000_000;
/** `outputLimitMegabytes` of the workspace, which a flood passes. */
export const limitMegabytes = 16;
const floodBytes = 24_000_000;

const patient = { engine: 'chaos', timeout: 240 } as const;

export const behaviours: Behaviour[] = [
  { ...patient, kind: 'fast', ends: 'completed', weight: 20 },
  { ...patient, kind: 'slow', ends: 'completed', weight: 18 },
  { ...patient, kind: 'chatty', ends: 'completed', weight: 8 },
  { ...patient, kind: 'rude', ends: 'completed', weight: 6 },
  { ...patient, kind: 'deaf', ends: 'completed', weight: 5 },
  { ...patient, kind: 'forker', ends: 'completed', weight: 6 },
  { ...patient, kind: 'holder', ends: 'completed', weight: 6 },
  {
    ...{ ...patient, kind: 'big', ends: 'completed', weight: 3 },
    bytes: bigBytes
  },
  { ...patient, kind: 'crash', ends: 'interrupted', weight: 5 },
  { ...patient, kind: 'segfault', ends: 'interrupted', weight: 4 },
  { ...patient, kind: 'fails', ends: 'failed', weight: 6 },
  { ...patient, kind: 'mute', ends: 'failed', weight: 5 },
  {
    ...{ ...patient, kind: 'flood', ends: 'failed', weight: 2 },
    bytes: floodBytes
  },
  { ...patient, kind: 'overlong', ends: 'timeout', weight: 4, timeout: 3 },
  { ...patient, kind: 'stubborn', ends: 'timeout', weight: 3, timeout: 2 },
  {
    ...{ kind: 'idle', engine: 'idler', ends: 'timeout', weight: 4 },
    timeout: 240
  }
];

const plain = { engine: 'plain', timeout: 240, ends: 'completed' } as const;

/** Agents that meet nothing but everyday acts. */
export const everydayBehaviours: Behaviour[] = [
  { ...patient, kind: 'fast', ends: 'completed', weight: 14 },
  { ...patient, kind: 'slow', ends: 'completed', weight: 14 },
  { ...patient, kind: 'forker', ends: 'completed', weight: 5 },
  { ...patient, kind: 'holder', ends: 'completed', weight: 5 },
  { ...patient, kind: 'fails', ends: 'failed', weight: 5 },
  { ...patient, kind: 'overlong', ends: 'timeout', weight: 3, timeout: 8 },
  { ...plain, kind: 'lines', weight: 18 },
  { ...plain, kind: 'reopener', weight: 8 },
  { ...plain, kind: 'writer', weight: 8 },
  { ...plain, kind: 'isolated', weight: 10, isolate: true },
  { ...plain, kind: 'reader', weight: 4, isolate: true },
  // Acts that need such an agent start it themselves.
  { ...plain, kind: 'patient', weight: 0 },
  { ...plain, kind: 'multiplexer', weight: 0 }
];

export function someBehaviour(
  random: Random,
  among: Behaviour[] = behaviours
): Behaviour {
  const sum = among.reduce((total, { weight }) => total + weight, 0);
  let left = random.next() * sum;
  for (const behaviour of among) {
    left -= behaviour.weight;
    if (left < 0) return behaviour;
  }
  throw new Error('There are no behaviours.');
}

export function behaviourOf(kind: string): Behaviour {
  const all = [...behaviours, ...everydayBehaviours];
  const found = all.find((behaviour) => behaviour.kind === kind);
  if (!found) throw new Error(`There is no behaviour ${kind}.`);
  return found;
}

const lineChars = 500;
export const lineCount = 12;

/** One line of a talkative agent. */
export function lineOf(number: number | string, name: string): string {
  return `line ${number} of ${name} ${'.'.repeat(lineChars)}`;
}

/** All that a plain agent prints, undefined where only its end is known. */
export function answerOf(kind: string, name: string): string | undefined {
  const before = plainLines(kind, name);
  return before && [...before, `did ${name}`].join('\n');
}

function plainLines(kind: string, name: string): string[] | undefined {
  const numbers = Array.from({ length: lineCount }, (_, index) => index + 1);
  switch (kind) {
    case 'lines':
      return numbers.map((number) => lineOf(number, name));
    case 'reopener':
      return ['first', 'second', 'third'].map((word) => `${word} of ${name}`);
    case 'writer':
    case 'isolated':
    case 'reader':
    case 'patient':
    case 'multiplexer':
      return [];
    default:
      return undefined;
  }
}

/** What the program looks for in its prompt, and how it knows its name. */
export function promptFor(
  { kind }: Behaviour,
  name: string,
  seconds: number
): string {
  return `You are an agent that is tried hard.\n@chaos ${kind} ${name} ${seconds.toFixed(2)} .\n`;
}

/** The name and the behaviour that a prompt gives. */
export function namedIn(prompt: string) {
  const [, kind, name] = /^@chaos (\S+) (\S+) /m.exec(prompt) ?? [];
  return kind && name ? { kind, name } : undefined;
}
