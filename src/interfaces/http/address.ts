import { errnoOf, HostError } from '../../core/errors.ts';

export interface Address {
  /** A host name or an IP address; IPv6 without brackets. */
  host: string;
  /** 0 means any free port. */
  port: number;
}

const defaultAddress: Address = { host: '127.0.0.1', port: 8377 };

const addressPattern = /^(?:(\[[0-9a-f:.]+\]|[\w.-]+):)?(\d{1,5})$/i;

/**
 * Parses `[[host:]port]`; empty text means the default.
 * @throws HostError `config_invalid`
 */
export function addressIn(text: string): Address {
  if (text === '') return defaultAddress;
  const [, host, digits] = addressPattern.exec(text) ?? [];
  const port = Number(digits);
  if (digits !== undefined && port <= 65_535)
    return { host: host ? bare(host) : defaultAddress.host, port };
  throw new HostError(
    'config_invalid',
    `--http ${JSON.stringify(text)} is not an address.`,
    'Give PORT, HOST:PORT or [IPV6]:PORT, or nothing for 127.0.0.1:8377.'
  );
}

/** Whether only programs on this machine can connect. */
function isLoopback(host: string): boolean {
  return /^(localhost|127(\.\d{1,3}){3}|::1)$/i.test(host);
}

export function urlOf({ host, port }: Address): string {
  const name = /^[^[].*:/.test(host) ? `[${host}]` : host;
  return `http://${name}:${port}/mcp`;
}

/** The host name in the URL for clients. */
export function nameOf({ host }: Address, [allowed]: string[]): string {
  return isLoopback(host) ? host : (allowed ?? host);
}

/**
 * Requires an allowed host name if other machines can connect.
 * @throws HostError `config_invalid`
 */
export function checkReach({ host }: Address, allowed: string[]): void {
  if (isLoopback(host) || allowed.length > 0) return;
  throw new HostError(
    'config_invalid',
    `Other machines could reach ${host}, but no Host name for them is allowed.`,
    'Give names with --allow-host, or serve only this machine: --http PORT.'
  );
}

/** Converts an error of `listen` to one for the user. */
export function unreachable({ host, port }: Address, error: Error): HostError {
  const code = errnoOf(error) ?? error.message;
  if (hostFaults.has(code))
    return new HostError(
      'config_invalid',
      `${host} is not an address of this machine (${code}).`,
      'Give one of its own with --http, such as 127.0.0.1:0, or 0.0.0.0:0 for all; names of it that clients use go with --allow-host.'
    );
  return new HostError(
    'config_invalid',
    code === 'EADDRINUSE'
      ? `Port ${port} of ${host} is in use.`
      : `Port ${port} of ${host} cannot be listened on (${code}).`,
    'Give another with --http; port 0 is any that is free.'
  );
}

/** Error codes of `listen` that concern the host, not the port. */
const hostFaults = new Set(['ENOTFOUND', 'EAI_AGAIN', 'EADDRNOTAVAIL']);

function bare(host: string): string {
  return host.replace(/^\[|\]$/g, '');
}
