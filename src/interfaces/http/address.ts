import { HostError } from '../../core/errors.ts';

export interface Address {
  /** Without the brackets of IPv6. */
  host: string;
  /** 0: any that is free. */
  port: number;
}

const usualAddress: Address = { host: '127.0.0.1', port: 8377 };

const form = /^(?:(\[[0-9a-f:.]+\]|[\w.-]+):)?(\d{1,5})$/i;

/**
 * `[[host:]port]`, empty for the usual one.
 * @throws HostError `config_invalid`
 */
export function addressIn(text: string): Address {
  if (text === '') return usualAddress;
  const [, host, digits] = form.exec(text) ?? [];
  const port = Number(digits);
  if (digits !== undefined && port <= 65_535)
    return { host: host ? bare(host) : usualAddress.host, port };
  throw new HostError(
    'config_invalid',
    `--http ${JSON.stringify(text)} is no address.`,
    'Give PORT, HOST:PORT or [IPV6]:PORT, or nothing for 127.0.0.1:8377.'
  );
}

/** Only programs of this machine get there. */
export function isLoopback(host: string): boolean {
  return /^(localhost|127(\.\d{1,3}){3}|::1)$/i.test(host);
}

export function urlOf({ host, port }: Address): string {
  const name = /^[^[].*:/.test(host) ? `[${host}]` : host;
  return `http://${name}:${port}/mcp`;
}

function bare(host: string): string {
  return host.replace(/^\[|\]$/g, '');
}
