import type { CliEngine, EngineRequest } from '../../src/plugin/plugin.ts';
import { frozen, marked } from './check.ts';

/** A request that may not be changed. */
export function requestWith(changes: Partial<EngineRequest>): EngineRequest {
  return frozen({
    prompt: marked('prompt'),
    access: 'full',
    cwd: '/workspace',
    asRoot: false,
    ...changes
  });
}

/** Every combination that a host may ask for. */
export function requests(): EngineRequest[] {
  const optional: Partial<EngineRequest>[] = [
    {},
    { model: marked('model') },
    { systemPrompt: marked('brief') },
    { sessionId: marked('session') },
    { newSessionId: marked('new') },
    { baseUrl: 'http://127.0.0.1:9' },
    { asRoot: true },
    { asks: true },
    {
      model: marked('model'),
      systemPrompt: marked('brief'),
      sessionId: marked('session')
    }
  ];
  return (['read', 'write', 'full'] as const).flatMap((access) =>
    optional.map((changes) => requestWith({ access, ...changes }))
  );
}

/** All that an engine starts its program with. */
export function startOf(engine: CliEngine, request: EngineRequest) {
  return {
    args: engine.args(request),
    stdin: stdinOf(engine, request),
    env: { ...engine.env?.set?.(request) }
  };
}

/** As the host gives it when the engine says nothing of it. */
export function stdinOf(engine: CliEngine, request: EngineRequest): string {
  if (engine.stdin) return engine.stdin(request);
  const { prompt, systemPrompt } = request;
  return systemPrompt === undefined ? prompt : `${systemPrompt}\n\n${prompt}`;
}
