import type { Server } from '@modelcontextprotocol/sdk/server/index.js';
import type { RequestHandlerExtra } from '@modelcontextprotocol/sdk/shared/protocol.js';
import type {
  CallToolResult,
  ServerCapabilities,
  ServerNotification,
  ServerRequest
} from '@modelcontextprotocol/sdk/types.js';
import { errorAnswer } from '../tool/define-tool.ts';
import type { RequestInput } from '../transport/protocol.ts';

/** One call of an added tool, as the SDK describes it. */
export interface AddedCall
  extends RequestHandlerExtra<ServerRequest, ServerNotification> {
  server: Server;
  /**
   * Set for a client of revision 2026-07-28, of which the tool may ask more: it
   * answers `resultType: "input_required"` with `inputRequests`, and is called
   * again with the responses.
   */
  input?: RequestInput;
  /** Repeated here for programs without the types of the SDK. */
  signal: AbortSignal;
}

export interface AddedTool {
  name: string;
  title?: string;
  description?: string;
  /** JSON Schema for clients. The tool validates its input itself. */
  inputSchema: Record<string, unknown>;
  outputSchema?: Record<string, unknown>;
  annotations?: Record<string, unknown>;
  _meta?: Record<string, unknown>;
  call: (
    input: Record<string, unknown>,
    call: AddedCall
  ) => Promise<CallToolResult> | CallToolResult;
}

/** What another program adds to a server. */
export interface Additions {
  /** If a built-in tool has the same name, the call goes to that tool. */
  tools?: AddedTool[];
  /** Declared to clients in addition to the built-in ones. */
  capabilities?: ServerCapabilities;
  /**
   * Called with each client's server before it is connected, to set handlers
   * for the capabilities. Handlers for prompts, resources and completion
   * replace the built-in ones.
   */
  prepare?: (server: Server) => void;
}

/** Calls an added tool. Handles errors as `defineTool` does. */
export async function callAdded(
  tool: AddedTool,
  input: Record<string, unknown> = {},
  call: AddedCall
): Promise<CallToolResult> {
  try {
    return await tool.call(input, call);
  } catch (error) {
    return errorAnswer(error, tool.name);
  }
}
