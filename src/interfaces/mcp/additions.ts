import type { Server } from '@modelcontextprotocol/sdk/server/index.js';
import type { RequestHandlerExtra } from '@modelcontextprotocol/sdk/shared/protocol.js';
import type {
  CallToolResult,
  ServerCapabilities,
  ServerNotification,
  ServerRequest
} from '@modelcontextprotocol/sdk/types.js';
import { errorAnswer } from './define-tool.ts';

/** What a call of an added tool knows of its client, in the SDK's words. */
export interface AddedCall
  extends RequestHandlerExtra<ServerRequest, ServerNotification> {
  server: Server;
  /** Said here, too, for who has no types of the SDK. */
  signal: AbortSignal;
}

/** A tool of another program, served beside ours. */
export interface AddedTool {
  name: string;
  title?: string;
  description?: string;
  /** JSON Schema. The input is checked by the tool itself. */
  inputSchema: Record<string, unknown>;
  outputSchema?: Record<string, unknown>;
  annotations?: Record<string, unknown>;
  _meta?: Record<string, unknown>;
  call: (
    input: Record<string, unknown>,
    call: AddedCall
  ) => Promise<CallToolResult> | CallToolResult;
}

/** What another program adds to a server of ours. */
export interface Additions {
  /** A name of ours is ours. */
  tools?: AddedTool[];
  /** What clients are told that there is, beside ours. */
  capabilities?: ServerCapabilities;
  /**
   * Called with each client's server before it is connected, to answer what
   * the capabilities promise. What is set here for prompts, resources or
   * completion takes the place of ours.
   */
  prepare?: (server: Server) => void;
}

/** What flies is told as with a tool of ours: details go to stderr. */
export async function callAdded(
  tool: AddedTool,
  input: Record<string, unknown> = {},
  server: Server,
  extra: RequestHandlerExtra<ServerRequest, ServerNotification>
): Promise<CallToolResult> {
  try {
    return await tool.call(input, { ...extra, server });
  } catch (error) {
    return errorAnswer(error, tool.name);
  }
}
