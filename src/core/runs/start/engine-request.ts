import type { EngineRequest } from '../../../plugin/plugin.ts';
import type { EngineRegistry } from '../../engines/engine-registry.ts';
import type { RunRecord } from '../run.ts';

/** What the engine of a recorded run is asked for. */
export function engineRequestOf(
  record: RunRecord,
  prompt: string,
  registry: EngineRegistry
): EngineRequest {
  const { baseUrl } = registry.settingsOf(record.engine);
  return {
    prompt,
    access: record.access,
    cwd: record.cwd,
    asRoot: process.getuid?.() === 0,
    ...(record.ask ? { asks: true } : {}),
    ...(record.model === null ? {} : { model: record.model }),
    ...(record.system_prompt === null
      ? {}
      : { systemPrompt: record.system_prompt }),
    ...(record.session_id === null ? {} : { sessionId: record.session_id }),
    ...(record.new_session_id ? { newSessionId: record.new_session_id } : {}),
    ...(baseUrl === undefined ? {} : { baseUrl })
  };
}
