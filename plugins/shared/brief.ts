import type { EngineRequest } from '../../src/plugin/plugin.ts';

/**
 * Whether a system prompt has to go before the prompt: a resumed session
 * silently keeps its first one, and Linux takes 128 KiB per argument at most.
 */
export function briefsByPrompt({
  sessionId,
  systemPrompt = ''
}: EngineRequest): boolean {
  const fits = Buffer.byteLength(systemPrompt) <= 100_000;
  return systemPrompt !== '' && (sessionId !== undefined || !fits);
}

/** The prompt, after the system prompt if no flag can carry that. */
export function briefedPrompt(request: EngineRequest): string {
  return briefsByPrompt(request)
    ? `${request.systemPrompt}\n\n${request.prompt}`
    : request.prompt;
}
