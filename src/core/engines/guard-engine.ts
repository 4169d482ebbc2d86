import type {
  ApiEngine,
  CliEngine,
  Connection,
  Engine,
  Reply
} from '../../plugin.ts';
import { EngineFault, wordsOf } from './engine-fault.ts';
import { pluginShapes, told } from './engine-shape.ts';
import { withoutStdout } from './plugin-output.ts';

/**
 * An engine as the host may use it: its data is a copy, its functions are
 * given copies, and what they give back is checked. Whatever a plugin does
 * wrong comes as an `EngineFault` that names it and the member, and nothing
 * it changes afterwards counts.
 * @throws ZodError when a value is no engine
 */
export function guardEngine(value: unknown): Engine {
  const parsed: unknown = pluginShapes().engine.parse(value);
  const engine = parsed as Engine;
  return engine.kind === 'cli'
    ? guardProgram(engine, new Guard(engine.name, value))
    : guardApi(engine, new Guard(engine.name, value));
}

function guardProgram(engine: CliEngine, guard: Guard): CliEngine {
  const { args, stdin, tools, read, readError, env, probe } = engine;
  const { connect, interactive } = engine;
  return {
    ...engine,
    ...guardBasics(engine, guard),
    args: (request) => guard.ask('args', args, [{ ...request }]),
    ...(stdin && {
      stdin: (request) => guard.ask('stdin', stdin, [{ ...request }])
    }),
    ...(tools && { tools: (access) => guard.ask('tools', tools, [access]) }),
    ...(read && {
      read: (reply, event) =>
        guard.ask<Reply>('read', read, [{ ...reply }, event])
    }),
    ...(readError && {
      readError: (reply, line) =>
        guard.ask<Reply>('readError', readError, [{ ...reply }, line])
    }),
    ...(env && { env: guardEnvironment(env, guard) }),
    ...(probe && { probe: guardProbe(probe, guard) }),
    ...(connect && { connect: guardConnect(connect, guard) }),
    ...(interactive && { interactive: guardInteractive(interactive, guard) })
  };
}

type Connect = NonNullable<CliEngine['connect']>;

function guardConnect(connect: Connect, guard: Guard): Connect {
  return (server, directory, { request, environment, ...rest }) =>
    guard.ask<Connection>('connect', connect, [
      structuredClone(server),
      directory,
      { ...rest, request: { ...request }, environment: { ...environment } }
    ]);
}

type Interactive = NonNullable<CliEngine['interactive']>;

function guardInteractive(interactive: Interactive, guard: Guard): Interactive {
  const { args, env } = interactive;
  return {
    ...interactive,
    args: (request) =>
      guard.ask('interactive.args', args, [{ ...request }], interactive),
    ...(env && {
      env: (request) =>
        guard.ask('interactive.env', env, [{ ...request }], interactive)
    })
  };
}

function guardApi(engine: ApiEngine, guard: Guard): ApiEngine {
  const { generate } = engine;
  return {
    ...engine,
    ...guardBasics(engine, guard),
    // What it throws is for the host to read: a failed call is no fault.
    generate: async (request, tools) => {
      const faults: EngineFault[] = [];
      const onText = (piece: unknown) => {
        if (typeof piece === 'string') return tools.onText(piece);
        const problem = `called onText with a ${typeof piece}`;
        faults.push(
          new EngineFault(engine.name, 'generate', problem, 'bad_output')
        );
        throw faults[0];
      };
      const asked = [structuredClone(request), { ...tools, onText }];
      const reply: unknown = await guard.call(generate, asked);
      for (const fault of faults) throw fault;
      return guard.checked<Reply>('generate', reply);
    }
  };
}

function guardBasics({ timeoutSeconds, failure }: Engine, guard: Guard) {
  return {
    ...(typeof timeoutSeconds === 'function' && {
      timeoutSeconds: (prompt: string): number =>
        guard.ask('timeoutSeconds', timeoutSeconds, [prompt])
    }),
    ...(failure && {
      failure: (text: string) =>
        guard.ask<ReturnType<typeof failure>>('failure', failure, [text])
    })
  };
}

type Environment = NonNullable<CliEngine['env']>;

function guardEnvironment(env: Environment, guard: Guard): Environment {
  const { set } = env;
  if (!set) return env;
  return {
    ...env,
    set: (request) => guard.ask('env.set', set, [{ ...request }], env)
  };
}

type Probe = NonNullable<CliEngine['probe']>;

/** Who cannot read the program's words knows nothing; that is no fault. */
function guardProbe(probe: Probe, guard: Guard): Probe {
  const { login } = probe;
  if (!login) return probe;
  const states = ['logged in', 'not logged in'] as const;
  const read: typeof login.read = (output) => {
    try {
      const state = guard.call(login.read, [{ ...output }], login);
      return states.find((known) => known === state) ?? 'unknown';
    } catch {
      return 'unknown';
    }
  };
  return { ...probe, login: { ...login, read } };
}

type Asked = keyof ReturnType<typeof pluginShapes>['answers'];

/** Calls the functions of one engine. */
class Guard {
  readonly #name: string;
  readonly #engine: unknown;

  constructor(name: string, engine: unknown) {
    this.#name = name;
    this.#engine = engine;
  }

  /** As a method, so that it finds the plugin's own members. */
  call(member: unknown, given: unknown[], on = this.#engine): unknown {
    return typeof member === 'function'
      ? withoutStdout(() => Reflect.apply(member, on, given))
      : undefined;
  }

  /** @throws EngineFault when it throws, or answers with something else */
  ask<Answer>(
    name: Asked,
    member: unknown,
    given: unknown[],
    on = this.#engine
  ): Answer {
    let answer: unknown;
    try {
      answer = this.call(member, given, on);
    } catch (error) {
      throw this.#fault(name, `threw: ${wordsOf(error)}`);
    }
    // It comes too late, and its failure is nobody's.
    if (answer instanceof Promise) answer.catch(() => undefined);
    return this.checked(name, answer);
  }

  /** @throws EngineFault when it is not what the member may give back */
  checked<Answer>(name: Asked, answer: unknown): Answer {
    let problem: string;
    try {
      const parsed = pluginShapes().answers[name].safeParse(answer);
      if (parsed.success) return parsed.data as Answer;
      problem = told(parsed.error);
    } catch (error) {
      problem = wordsOf(error);
    }
    throw this.#fault(name, `gave back what it may not: ${problem}`);
  }

  #fault(name: Asked, problem: string): EngineFault {
    const readsOutput = ['read', 'readError', 'failure', 'generate'].includes(
      name
    );
    const code = readsOutput ? 'bad_output' : 'spawn_failed';
    return new EngineFault(this.#name, name, problem, code);
  }
}
