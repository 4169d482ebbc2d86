import type { ToolContext } from '../../../src/interfaces/mcp/tool/define-tool.ts';

/** What a tool is called with, by a client that is there and listens to none. */
export function callContext(changes: Partial<ToolContext> = {}): ToolContext {
  return {
    signal: new AbortController().signal,
    clientName: 'a client',
    caller: { client: 'a client' },
    toldAsks: new Set(),
    isThere: () => true,
    progress: () => undefined,
    afterAnswer: () => undefined,
    ...changes
  };
}
