import type { CliEngine, EngineRequest } from '../plugin.ts';

/**
 * Every flag that an engine may give its program, each once: `-x`, `--long`;
 * of `--long=value` the part before `=`. Learned by asking for the arguments
 * of what runs ask for, none of whose values looks like a flag.
 * @throws EngineFault when the plugin cannot say its arguments
 */
export function flagsOf(engine: CliEngine): string[] {
  const flags = requestsTo(engine).flatMap((request) =>
    flagsIn(engine.args(request))
  );
  return [...new Set(flags)].sort();
}

function flagsIn(args: string[]): string[] {
  const end = args.indexOf('--');
  return (end < 0 ? args : args.slice(0, end)).flatMap(
    (word) => /^--?[a-z][\w.-]*/i.exec(word) ?? []
  );
}

const variations: Partial<EngineRequest>[] = [
  {},
  { model: 'model' },
  { systemPrompt: 'brief' },
  { baseUrl: 'http://127.0.0.1' },
  { asRoot: true }
];

const named: Partial<EngineRequest>[] = [
  { newSessionId: '00000000-0000-4000-8000-000000000000' }
];

const later: Partial<EngineRequest>[] = [
  { sessionId: 'session' },
  { sessionId: 'session', model: 'model', systemPrompt: 'brief' }
];

function requestsTo(engine: CliEngine): EngineRequest[] {
  const all = [
    ...variations,
    ...(engine.takesSessionId ? named : []),
    ...(engine.resumes ? later : [])
  ];
  const plain = { prompt: 'prompt', cwd: '/directory', asRoot: false };
  return (['read', 'write', 'full'] as const).flatMap((access) =>
    all.map((changes) => ({ ...plain, access, ...changes }))
  );
}
