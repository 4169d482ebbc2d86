import { pathsOf } from '../../core/paths/paths.ts';
import type { Host } from '../../host.ts';
import { retainAutomatically } from '../../retain.ts';
import type { Additions } from '../mcp/additions.ts';
import { addressIn } from './address.ts';
import { listen } from './serve-http.ts';
import { tokenFor } from './token.ts';

export interface HttpOptions extends Additions {
  /** `[[host:]port]`, as with `--http`; default: 127.0.0.1:8377. */
  address?: string;
  /** Default: the workspace's own, kept in its record: `http/token`. */
  token?: string;
}

export interface HttpServer {
  url: string;
  /** Where the token is kept; undefined when it was given. */
  tokenFile: string | undefined;
  /** Ends the sessions; the host and its agents go on. */
  close: () => Promise<void>;
}

/**
 * Serves a host, and what another program adds, over streamable HTTP, as
 * `troupe mcp --http` does. Which hosts and origins are allowed, and how many
 * sessions, is in the host's configuration.
 * @throws HostError `config_invalid`, `state_unsafe`, `storage_full`,
 *   `storage_unwritable`
 */
export async function serveHttp(
  host: Host,
  { address = '', token: given, ...additions }: HttpOptions = {}
): Promise<HttpServer> {
  host.safety.check();
  const token = tokenFor(pathsOf(host.config.workspace).token, given);
  host.keys.hide(token.value);
  const ending = new AbortController();
  const { url, close } = await listen({
    host,
    life: { ending: ending.signal, track: (call) => call },
    address: addressIn(address),
    token,
    additions
  });
  host.watch();
  const stopRetaining = retainAutomatically(host);
  return {
    url,
    tokenFile: token.file,
    close: async () => {
      stopRetaining();
      ending.abort();
      await close();
    }
  };
}
