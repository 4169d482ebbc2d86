import type { IncomingHttpHeaders } from 'node:http';
import type { JSONRPCRequest } from '@modelcontextprotocol/sdk/types.js';
import { modernRevision, protocolVersionKey } from '../mcp/modern/revision.ts';
import type { AddedTool } from '../mcp/server/additions.ts';
import { shortened } from '../mcp/transport/protocol.ts';

/** The parameter that `Mcp-Name` repeats. */
const namedBy: Record<string, string> = {
  'tools/call': 'name',
  'prompts/get': 'name',
  'resources/read': 'uri'
};

/**
 * Headers repeat what is in the body, for proxies that do not read it.
 * @returns the first header that does not match the body
 */
export function mismatchOf(
  headers: IncomingHttpHeaders,
  { method, params = {} }: JSONRPCRequest,
  tools: AddedTool[]
): string | undefined {
  const version: unknown = Object(params._meta)[protocolVersionKey];
  const found = checkIn(headers);
  if (typeof version !== 'string') return undefined;
  const wrongVersion = found('MCP-Protocol-Version', version);
  // A later revision may have other headers.
  if (wrongVersion || version !== modernRevision) return wrongVersion;
  const name = params[namedBy[method] ?? ''];
  return (
    found('Mcp-Method', method) ??
    (typeof name === 'string' ? found('Mcp-Name', name, true) : undefined) ??
    (method === 'tools/call' ? wrongParameter(params, tools, found) : undefined)
  );
}

type Check = ReturnType<typeof checkIn>;

function checkIn(headers: IncomingHttpHeaders) {
  return (name: string, wanted: Value, isEncoded = false) => {
    const header = headers[name.toLowerCase()];
    const raw = Array.isArray(header) ? header.join(', ') : header;
    if (raw === undefined)
      return wanted === undefined ? undefined : `${name} is missing.`;
    const value = isEncoded ? decoded(raw) : raw;
    const isSame =
      typeof wanted === 'number'
        ? value?.trim() !== '' && Number(value) === wanted
        : value !== undefined && value === wanted?.toString();
    if (isSame) return undefined;
    return `${name} "${shortened(raw)}" is not what the body has.`;
  };
}

type Value = string | number | boolean | undefined;

const base64 = /^=\?base64\?([A-Za-z0-9+/]*={0,2})\?=$/;

/** Undefined if the value breaks the rules of the encoding. */
function decoded(value: string): string | undefined {
  if (!value.startsWith('=?base64?') || !value.endsWith('?='))
    return /^[\t\x20-\x7e]*$/.test(value) ? value : undefined;
  const [, text] = base64.exec(value) ?? [];
  if (text === undefined || text.length % 4 !== 0) return undefined;
  return Buffer.from(text, 'base64').toString('utf8');
}

/** Checks the parameters that the schema of an added tool names for headers. */
function wrongParameter(
  { name, arguments: input }: Record<string, unknown>,
  tools: AddedTool[],
  found: Check
): string | undefined {
  const tool = tools.find((one) => one.name === name);
  return tool && wrongIn(tool.inputSchema, input, found);
}

function wrongIn(
  schema: unknown,
  input: unknown,
  found: Check
): string | undefined {
  const properties: unknown = Object(schema).properties;
  for (const [key, property] of Object.entries(Object(properties))) {
    const value: unknown = Object(input)[key];
    const header: unknown = Object(property)['x-mcp-header'];
    const wrong =
      typeof header === 'string'
        ? found(`Mcp-Param-${header}`, plain(value), true)
        : wrongIn(property, value, found);
    if (wrong) return wrong;
  }
  return undefined;
}

/** A value that a header can repeat. */
function plain(value: unknown): Value {
  return typeof value === 'string' ||
    typeof value === 'number' ||
    typeof value === 'boolean'
    ? value
    : undefined;
}
