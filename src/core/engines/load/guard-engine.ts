import type {
  ApiEngine,
  CliEngine,
  Engine,
  Reply
} from '../../../plugin/plugin.ts';
import { describeIssues, parseEngine, pluginShapes } from '../engine-shape.ts';
import { EngineFault, wordsOf } from '../failures.ts';
import { withoutStdout } from './plugin-isolation.ts';
import { simpleReply } from './simple-reply.ts';

/**
 * Wraps a plugin's engine so that it is safe to call: its data is a copy, its
 * functions receive copies, and their results are checked. An invalid result or
 * a thrown error becomes an `EngineFault` that names the plugin and the member,
 * except for errors of `generate` and `login.read`. Later changes to the plugin
 * object have no effect.
 * @throws ZodError when the value is not an engine
 */
export function guardEngine(value: unknown): Engine {
  const engine = parseEngine(value) as Engine;
  const guard = new Guard(engine.name, value);
  return engine.kind === 'cli'
    ? guardProgram(engine, guard)
    : guardApi(engine, guard);
}

function guardProgram(engine: CliEngine, guard: Guard): CliEngine {
  const { connect, env, interactive, probe, usageLog } = engine;
  return {
    ...guard.functionsOf(engine, [
      'timeoutSeconds',
      'failure',
      'args',
      'stdin',
      'tools',
      'read',
      'readError',
      'turns'
    ]),
    ...(connect && { connect: guardConnect(connect, guard) }),
    ...(env && { env: guard.functionsOf(env, ['set', 'named'], 'env') }),
    ...(interactive && {
      interactive: guard.functionsOf(
        interactive,
        ['args', 'env'],
        'interactive'
      )
    }),
    ...(usageLog && {
      usageLog: guard.functionsOf(usageLog, ['path', 'read'], 'usageLog')
    }),
    ...(probe && { probe: guardProbe(probe, guard) })
  };
}

type Connect = NonNullable<CliEngine['connect']>;

function guardConnect(connect: Connect, guard: Guard): Connect {
  return (server, directory, { request, environment, ...rest }) =>
    guard.call('connect', connect, [
      structuredClone(server),
      directory,
      { ...rest, request: { ...request }, environment: { ...environment } }
    ]);
}

function guardApi(engine: ApiEngine, guard: Guard): ApiEngine {
  const { generate } = engine;
  return {
    ...guard.functionsOf(engine, ['timeoutSeconds', 'failure']),
    // Errors of `generate` pass through: a failed call is not a plugin fault.
    generate: async (request, tools) => {
      let fault: EngineFault | undefined;
      const onText = (piece: unknown) => {
        if (typeof piece === 'string') return tools.onText(piece);
        const problem = `called onText with a ${typeof piece}`;
        fault ??= guard.fault('generate', problem);
        throw fault;
      };
      const args = [structuredClone(request), { ...tools, onText }];
      const reply: unknown = await guard.apply(generate, args);
      if (fault) throw fault;
      return guard.checked<Reply>('generate', reply);
    }
  };
}

type Probe = NonNullable<CliEngine['probe']>;

/** Maps a login check that throws or returns an invalid state to `unknown`. */
function guardProbe(probe: Probe, guard: Guard): Probe {
  const { login } = probe;
  const guarded = guard.functionsOf(probe, ['provider'], 'probe');
  if (!login) return guarded;
  const states = ['logged in', 'not logged in'] as const;
  const read: typeof login.read = (output) => {
    try {
      const state = guard.apply(login.read, [{ ...output }], login);
      return states.find((known) => known === state) ?? 'unknown';
    } catch {
      return 'unknown';
    }
  };
  return { ...guarded, login: { ...login, read } };
}

type Member = keyof ReturnType<typeof pluginShapes>['answers'];

/**
 * The members that return a reply for each line of output. The line, or the
 * event that was parsed from it, is for this call only, so it is not copied.
 */
const folds = new Set<Member>(['read', 'readError', 'usageLog.read']);

/** Calls the functions of one engine and checks their results. */
class Guard {
  readonly #name: string;
  readonly #plugin: unknown;

  constructor(name: string, plugin: unknown) {
    this.#name = name;
    this.#plugin = plugin;
  }

  /**
   * A copy of the engine, or of a part of it, with these functions guarded.
   * @param part the name of that part; undefined for the engine itself
   */
  functionsOf<Part extends object>(
    owner: Part,
    names: (keyof Part & string)[],
    part?: string
  ): Part {
    const copy = { ...owner };
    for (const name of names) {
      const member: unknown = owner[name];
      if (typeof member !== 'function') continue;
      const path = (part ? `${part}.${name}` : name) as Member;
      const thisArg = part ? owner : this.#plugin;
      const call = (...args: unknown[]) =>
        this.call(path, member, args.map(shallowCopy), thisArg);
      const fold = (reply: unknown, ...line: unknown[]) =>
        this.call(path, member, [shallowCopy(reply), ...line], thisArg);
      Object.assign(copy, { [name]: folds.has(path) ? fold : call });
    }
    return copy;
  }

  /** Calls a plugin function with `this` bound to the plugin object. */
  apply(member: unknown, args: unknown[], thisArg = this.#plugin): unknown {
    return typeof member === 'function'
      ? withoutStdout(() => Reflect.apply(member, thisArg, args))
      : undefined;
  }

  /** @throws EngineFault when the function throws or its result is invalid */
  call<Answer>(
    name: Member,
    member: unknown,
    args: unknown[],
    thisArg = this.#plugin
  ): Answer {
    let answer: unknown;
    try {
      answer = this.apply(member, args, thisArg);
    } catch (error) {
      throw this.fault(name, `threw: ${wordsOf(error)}`);
    }
    // A promise is an invalid result; its rejection must not go unhandled.
    if (answer instanceof Promise) answer.catch(() => undefined);
    return this.checked(name, answer);
  }

  /** @throws EngineFault when the contract does not allow this result */
  checked<Answer>(name: Member, answer: unknown): Answer {
    let problem: string;
    try {
      const simple = folds.has(name) ? simpleReply(answer) : undefined;
      if (simple) return simple as Answer;
      const parsed = pluginShapes().answers[name].safeParse(answer);
      if (parsed.success) return parsed.data as Answer;
      problem = describeIssues(parsed.error);
    } catch (error) {
      problem = wordsOf(error);
    }
    throw this.fault(name, `returned an invalid value: ${problem}`);
  }

  fault(name: Member, problem: string): EngineFault {
    const readsOutput = ['read', 'readError', 'turns', 'failure', 'generate'];
    const code = readsOutput.includes(name) ? 'bad_output' : 'spawn_failed';
    return new EngineFault(this.#name, name, problem, code);
  }
}

function shallowCopy(value: unknown): unknown {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? { ...value }
    : value;
}
