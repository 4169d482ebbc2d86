import type { IncomingMessage } from 'node:http';
import type { Refusal } from './answer.ts';

/** So long a client that sends too much may go on before it is cut off. */
const patienceMs = 1000;

/** What a client has sent, or why it is not taken. */
export type Body = { value: unknown } | { refusal: Refusal };

/**
 * A request's body as JSON. What is too long is not kept: of one that says so
 * nothing, of another no more than the limit.
 * @param goOn tells a client that asked first to send it
 */
export async function bodyOf(
  request: IncomingMessage,
  mostBytes: number,
  goOn: () => void
): Promise<Body> {
  const told = Number(request.headers['content-length'] ?? 0);
  if (told <= mostBytes) goOn();
  const text = told > mostBytes ? undefined : await textOf(request, mostBytes);
  if (text === undefined) {
    letRun(request);
    return {
      refusal: {
        status: 413,
        code: -32000,
        message: `The message is longer than ${mostBytes} bytes (http.bodyMegabytes).`
      }
    };
  }
  try {
    return { value: JSON.parse(text) };
  } catch {
    return {
      refusal: { status: 400, code: -32700, message: 'This is not JSON.' }
    };
  }
}

/** Undefined when there is more of it. @throws when the client breaks off */
async function textOf(
  request: IncomingMessage,
  mostBytes: number
): Promise<string | undefined> {
  const chunks: Buffer[] = [];
  let length = 0;
  return new Promise((resolve, reject) => {
    request.on('data', (chunk: Buffer) => {
      length += chunk.length;
      if (length <= mostBytes) chunks.push(chunk);
      else resolve(undefined);
    });
    request.on('end', () => resolve(Buffer.concat(chunks).toString('utf8')));
    request.on('error', reject);
    request.on('close', () => reject(new Error('The client broke off.')));
  });
}

/** A client that is cut off while it sends does not read why. */
function letRun(request: IncomingMessage): void {
  request.removeAllListeners('data').resume();
  const cutOff = setTimeout(() => request.destroy(), patienceMs).unref();
  request.once('close', () => clearTimeout(cutOff));
}
