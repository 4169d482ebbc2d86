import type { EndStatus } from '../../core/runs/run.ts';
import type { Random } from '../random.ts';

/** How an agent behaves, and how it may end when nobody does it any harm. */
export interface Behaviour {
  kind: string;
  /** The idler is stopped after two seconds of silence. */
  engine: 'chaos' | 'idler';
  ends: EndStatus;
  /** Among all behaviours. */
  weight: number;
  /** Seconds. Well above what it needs, where it is to end by itself. */
  timeout: number;
  /** Bytes that it puts out besides its events. */
  bytes?: number;
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

export function someBehaviour(random: Random): Behaviour {
  const sum = behaviours.reduce((total, { weight }) => total + weight, 0);
  let left = random.next() * sum;
  for (const behaviour of behaviours) {
    left -= behaviour.weight;
    if (left < 0) return behaviour;
  }
  throw new Error('There are no behaviours.');
}

export function behaviourOf(kind: string): Behaviour {
  const found = behaviours.find((behaviour) => behaviour.kind === kind);
  if (!found) throw new Error(`There is no behaviour ${kind}.`);
  return found;
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
