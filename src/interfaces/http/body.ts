import type { IncomingMessage } from 'node:http';

/** A client has this long to send the rest of a body that is too long. */
const drainMs = 1000;

export type Body = { value: unknown } | { fault: 'too_long' | 'not_json' };

/**
 * Parses the body of a request as JSON. Never buffers more than the limit.
 * @param sendContinue answers `Expect: 100-continue`
 */
export async function readBody(
  request: IncomingMessage,
  maxBytes: number,
  sendContinue: () => void
): Promise<Body> {
  const length = Number(request.headers['content-length'] ?? 0);
  const isShort = length <= maxBytes;
  if (isShort) sendContinue();
  const text = isShort ? await textOf(request, maxBytes) : undefined;
  if (text === undefined) {
    drain(request);
    return { fault: 'too_long' };
  }
  try {
    return { value: JSON.parse(text) };
  } catch {
    return { fault: 'not_json' };
  }
}

/**
 * Reads the body; undefined if it is too long.
 * @throws Error if the client disconnects
 */
async function textOf(
  request: IncomingMessage,
  maxBytes: number
): Promise<string | undefined> {
  const chunks: Buffer[] = [];
  let length = 0;
  return new Promise((resolve, reject) => {
    request.on('data', (chunk: Buffer) => {
      length += chunk.length;
      if (length <= maxBytes) chunks.push(chunk);
      else resolve(undefined);
    });
    request.on('end', () => resolve(Buffer.concat(chunks).toString('utf8')));
    request.on('error', reject);
    request.on('close', () => reject(new Error('The client broke off.')));
  });
}

/**
 * Discards the rest of a body for a limited time: a client whose connection is
 * closed while it sends does not read the error.
 */
function drain(request: IncomingMessage): void {
  request.removeAllListeners('data').resume();
  const cutOff = setTimeout(() => request.destroy(), drainMs).unref();
  request.once('close', () => clearTimeout(cutOff));
}
