import type { Server } from '@modelcontextprotocol/sdk/server/index.js';
import {
  CancelledNotificationSchema,
  type JSONRPCMessage,
  type RequestId
} from '@modelcontextprotocol/sdk/types.js';
import { logProblem } from '../../../host/log.ts';
import type { ModernStdio } from '../modern/modern-stdio.ts';
import { isModern } from '../modern/revision.ts';
import type { AnswerTransport } from '../transport/protocol.ts';
import type { Offer } from './offer.ts';
import { type ServeOptions, serve } from './server.ts';

/**
 * Serves all revisions of the protocol on one connection. Each message shows
 * which one it belongs to.
 */
export async function serveEveryRevision(
  options: ServeOptions,
  transport: AnswerTransport
): Promise<void> {
  const shared = { ...options, offer: oneOffer(options.offer) };
  await serve(shared, transport);
  const older = transport.onmessage;
  let loading: Promise<ModernStdio> | undefined;
  transport.onmessage = (message, extra) => {
    const cancelled = cancelledBy(message);
    const isForModern = isModern(message);
    if (!isForModern && (cancelled === undefined || !loading)) {
      older?.(message, extra);
      return;
    }
    // Most clients make no such request.
    loading ??= import('../modern/modern-stdio.ts').then(
      ({ ModernStdio }) => new ModernStdio(shared, transport)
    );
    loading
      .then((modern) => {
        if (cancelled === undefined) modern.receive(message);
        else if (!modern.cancel(cancelled) && !isForModern)
          older?.(message, extra);
      })
      .catch(logProblem);
  };
}

/** Makes the offer once, and again after a failure. */
function oneOffer(offer: ServeOptions['offer']): ServeOptions['offer'] {
  let offered: Promise<Offer> | undefined;
  return (server: Server) => {
    offered ??= offer(server).catch((error: unknown) => {
      offered = undefined;
      throw error;
    });
    return offered;
  };
}

function cancelledBy(message: JSONRPCMessage): RequestId | undefined {
  // Checked first, because every message comes this way.
  const isCancel =
    'method' in message && message.method === 'notifications/cancelled';
  if (!isCancel) return undefined;
  return CancelledNotificationSchema.safeParse(message).data?.params.requestId;
}
