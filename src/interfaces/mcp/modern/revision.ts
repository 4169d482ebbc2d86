import {
  type JSONRPCMessage,
  SUPPORTED_PROTOCOL_VERSIONS
} from '@modelcontextprotocol/sdk/types.js';

/** The first revision without `initialize`: each request describes itself. */
export const modernRevision = '2026-07-28';

/** All revisions that the server speaks, latest first. */
export const supportedRevisions = [
  modernRevision,
  ...SUPPORTED_PROTOCOL_VERSIONS
];

export const protocolVersionKey = 'io.modelcontextprotocol/protocolVersion';

/** Methods that only this revision has. */
const ownMethods = ['server/discover', 'subscriptions/listen'];

/** Whether a message describes itself, as those of this revision do. */
export function isModern(message: JSONRPCMessage): boolean {
  if (!('method' in message)) return false;
  return (
    ownMethods.includes(message.method) ||
    Object.hasOwn(Object(message.params?._meta), protocolVersionKey)
  );
}

/** An error of the protocol, for the client. */
export class ModernError extends Error {
  readonly code: number;
  /** The status of the HTTP response. */
  readonly status: number;
  readonly data: unknown;

  constructor(code: number, message: string, status = 200, data?: unknown) {
    super(message);
    this.name = 'ModernError';
    this.code = code;
    this.status = status;
    this.data = data;
  }
}
