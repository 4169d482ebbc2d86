import { z } from 'zod';
import {
  ModernError,
  modernRevision,
  protocolVersionKey,
  supportedRevisions
} from './revision.ts';

const prefix = 'io.modelcontextprotocol';
export const subscriptionIdKey = `${prefix}/subscriptionId`;
export const serverInfoKey = `${prefix}/serverInfo`;
const clientInfoKey = `${prefix}/clientInfo`;
const capabilitiesKey = `${prefix}/clientCapabilities`;
const logLevelKey = `${prefix}/logLevel`;

/** Keys of `_meta` that only describe the request to the server. */
const requestKeys = [
  protocolVersionKey,
  clientInfoKey,
  capabilitiesKey,
  logLevelKey
];

const envelopeSchema = z.looseObject({
  [protocolVersionKey]: z.string(),
  [clientInfoKey]: z
    .looseObject({ name: z.string(), version: z.string() })
    .optional(),
  [capabilitiesKey]: z.looseObject({})
});

/** What a request says about its client. */
export interface Envelope {
  /** `clientInfo`; empty texts for a client that does not name itself. */
  client: { name: string; version: string };
  /** The capabilities of the client, for this request. */
  capabilities: Record<string, unknown>;
  /** The rest of `_meta`, such as the progress token. */
  meta: Record<string, unknown>;
}

/**
 * Reads the `_meta` of a request.
 * @throws ModernError if a field is missing or wrong, or if the server does not
 *   support the revision
 */
export function envelopeOf(params: unknown): Envelope {
  const meta = Object(Object(params)._meta);
  const { data, error } = envelopeSchema.safeParse(meta);
  if (!data) {
    const path = error.issues[0]?.path.map(String).join('.') ?? '';
    throw new ModernError(
      -32602,
      `"_meta" of the request wants "${path}".`,
      400
    );
  }
  const requested = data[protocolVersionKey];
  if (requested !== modernRevision)
    throw new ModernError(-32022, 'Unsupported protocol version', 400, {
      supported: supportedRevisions,
      requested
    });
  const rest = Object.entries(meta).filter(
    ([key]) => !requestKeys.includes(key)
  );
  return {
    client: data[clientInfoKey] ?? { name: '', version: '' },
    capabilities: data[capabilitiesKey],
    meta: Object.fromEntries(rest)
  };
}
