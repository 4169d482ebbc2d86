import { errnoOf, HostError } from '../../core/errors.ts';
import { NotRegular } from '../../core/state/regular-file.ts';
import { logProblem } from '../../log.ts';

/** A longer one is not told back: the client knows what it asked for. */
const mostUriChars = 1000;

/** What a request is refused with, as JSON-RPC has it. */
export class ProtocolError extends Error {
  readonly code: number;
  readonly data: { uri: string } | undefined;

  constructor(code: number, message: string, uri?: string) {
    super(message);
    this.name = 'ProtocolError';
    this.code = code;
    const isTold = uri !== undefined && uri.length <= mostUriChars;
    this.data = isTold ? { uri } : undefined;
  }
}

export function invalidParams(message: string): ProtocolError {
  return new ProtocolError(-32602, message);
}

/** Passes on what a client can mend; the rest goes to stderr. */
export async function told<Told>(work: () => Promise<Told>): Promise<Told> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof ProtocolError) throw error;
    if (error instanceof HostError)
      throw new ProtocolError(-32603, `${error.message} ${error.hint}`);
    if (error instanceof NotRegular)
      throw new ProtocolError(-32603, `${error.message}. Move it away.`);
    logProblem(error);
    const code = errnoOf(error);
    throw new ProtocolError(
      -32603,
      code === undefined
        ? 'Something went wrong inside troupe. Look at the server log (stderr).'
        : `A file cannot be read (${code}). Check owner and permissions of ~/.troupe and of logs/ in the workspace.`
    );
  }
}
