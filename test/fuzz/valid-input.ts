import { pick, type Random } from '../kit/judges/random.ts';

/** As much of JSON Schema as our tools' schemas use. */
export interface Schema {
  type?: string;
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
  enum?: string[];
  anyOf?: Schema[];
  minimum?: number;
}

export interface KnownTool {
  name: string;
  inputSchema: Schema;
}

/** What answers have named, so that calls hit what is there. */
export class Names {
  readonly #known = new Map<string, string[]>();

  /** Remembers ids of an answer, by the name of their field. */
  learn(value: unknown, depth = 0): void {
    if (typeof value !== 'object' || value === null || depth > 10) return;
    for (const [key, member] of Object.entries(value)) {
      if (typeof member === 'string' && /id$|cursor$/i.test(key))
        this.#add(key === 'next_cursor' ? 'cursor' : key, member);
      else this.learn(member, depth + 1);
    }
  }

  pick(key: string, random: Random): string | undefined {
    const known = this.#known.get(key);
    return known && random.next() < 0.8 ? pick(random, known) : undefined;
  }

  #add(key: string, value: string): void {
    const known = this.#known.get(key) ?? [];
    if (known.includes(value)) return;
    this.#known.set(key, [...known, value].slice(-20));
  }
}

const texts: Record<string, string[]> = {
  prompt: [
    'say hello',
    'sleep 0.05\nsay done',
    'fail auth no',
    'write a.txt x'
  ],
  question: ['say hello'],
  task: ['say hello'],
  role: ['planner', 'You do what the tasks say.'],
  roleId: ['planner', 'debugger'],
  engine: ['rehearsal'],
  engines: ['rehearsal'],
  agent_name: ['one', 'two'],
  cwd: ['.', 'inside'],
  context_files: ['a-file'],
  type: ['ack', 'progress', 'result', 'heartbeat'],
  payload: ['say done']
};

/** Input that a tool takes, with some of what it may leave out. */
export function validInput(
  schema: Schema,
  names: Names,
  random: Random,
  key = ''
): unknown {
  const [first] = schema.anyOf ?? [];
  if (first) return validInput(first, names, random, key);
  if (schema.enum) return pick(random, schema.enum);
  switch (schema.type) {
    case 'object':
      return Object.fromEntries(
        Object.entries(schema.properties ?? {})
          .filter(
            ([name]) => schema.required?.includes(name) || random.next() < 0.3
          )
          .map(([name, one]) => [name, validInput(one, names, random, name)])
      );
    case 'array':
      return Array.from({ length: random.between(1, 2) }, () =>
        validInput(schema.items ?? {}, names, random, key.replace(/s$/, ''))
      );
    case 'boolean':
      return random.next() < 0.5;
    case 'number':
    case 'integer':
      // Tests do not wait.
      return /timeout/.test(key) ? 0.05 : Math.max(1, schema.minimum ?? 0);
    default:
      return names.pick(key, random) ?? pick(random, texts[key] ?? ['some']);
  }
}
